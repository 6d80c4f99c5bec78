# file: src/protocol/repair.c
# what: what is parked is told before all requests have come
# run: protocol --seed 1 --nodes 0 --script survive --technique relocate --schedule 0
/^void repair_turn/,/^}/ s/ && loss_have_all_said/ \&\& (l->phase == 1 || loss_have_all_said/; /^void repair_turn/,/^}/ s/l->phase))/l->phase)))/
