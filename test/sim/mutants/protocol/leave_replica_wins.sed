# file: src/protocol/repair.c
# what: a replica wins over the save of who has left
# run: protocol --seed 25 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void promote(/,/^}/ s/loss_is_leave(s->losses) ? saves_row(s, ref) != NULL/false ? false/
