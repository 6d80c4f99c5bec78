# file: src/protocol/repair.c
# what: the clock of the lost node counts
# run: protocol --seed 24 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void change_peer(/,/^}/ s/clocks_change(s, node, is_member);//
