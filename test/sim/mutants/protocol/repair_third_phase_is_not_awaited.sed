# file: src/protocol/repair.c
# what: requests go to homes that have not decided
# run: protocol --seed 3 --nodes 0 --script survive --technique relocate --schedule 0
/^void repair_turn/,/^}/ s/ && loss_have_all_said/ \&\& (l->phase == 3 || loss_have_all_said/; /^void repair_turn/,/^}/ s/l->phase))/l->phase)))/
