# file: src/protocol/replica.c
# what: what was added to a replica is lost when it goes
# run: exhaustive --scenario "adaptive 0:begin 1:begin,push,end"
/^static uint32_t take_updates/,/^}/ s/row_forget(&s->mover, ref, updates,/row_forget(\&s->mover, ref, NULL,/
