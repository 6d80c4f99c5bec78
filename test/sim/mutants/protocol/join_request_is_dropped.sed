# file: src/protocol/dispatch.c
# what: what who has joined asks before all have repaired is dropped
# run: protocol --seed 75 --nodes 0 --script join --technique adaptive --schedule 0
/^static.*park_in_repair(/,/^}/ s/s->losses->is_member\[a->entry->origin\]/(a->entry->origin != s->losses->change.node)/
