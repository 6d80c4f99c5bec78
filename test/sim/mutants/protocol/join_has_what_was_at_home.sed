# file: src/protocol/repair.c
# what: who joins begins with rows
# run: protocol --seed 6 --nodes 0 --script join --technique adaptive --schedule 0
/^static void begin_as_newcomer(/,/^}/ s/each_partition(s, have_nothing);//
