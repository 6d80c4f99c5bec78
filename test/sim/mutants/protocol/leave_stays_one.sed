# file: src/protocol/repair.c
# what: who is lost while it leaves is awaited
# run: protocol --seed 5 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void leaver_is_lost(/,/^}/ s/s->losses->change.kind = CHANGE_LOST;//
