# file: src/protocol/repair.c
# what: who joins waits for the clocks of nodes that were lost before
# run: protocol --seed 3607 --nodes 0 --script join --technique adaptive --schedule 0
/^static void begin_as_newcomer(/,/^}/ s/clocks_change(s, n, false)/(void)n/
