# file: src/scheduling/schedule.c
# what: two workers begin with one block
s/(w \* c->variables \/ c->workers/(w \/ 2 * c->variables \/ c->workers/
