# file: src/protocol/loss.c
# what: the others decide without who leaves
# run: protocol --seed 1 --nodes 0 --script survive --technique adaptive --schedule 0
/^bool loss_have_all_said(/,/^}/ s/ \&\& (!loss_is_leave(l) || loss_has_left(l))//
