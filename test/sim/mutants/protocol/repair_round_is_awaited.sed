# file: src/protocol/repair.c
# what: a round to the lost node is awaited
# run: protocol --seed 2 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void change_peer(/,/^}/ s/round_forget(s, node);/(void)s;/
