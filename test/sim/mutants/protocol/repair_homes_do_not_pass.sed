# file: src/protocol/repair.c
# what: the homes of the lost node are no one else's
# run: protocol --seed 1 --nodes 0 --script survive --technique relocate --schedule 0
/^static void decide(/,/^}/ s/loss_pass(s);//
