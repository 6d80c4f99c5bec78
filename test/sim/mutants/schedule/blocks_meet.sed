# file: src/scheduling/schedule.c
# what: two workers begin with one block
# run: schedule --seed 4
s/(w \* c->variables \/ c->workers/(w \/ 2 * c->variables \/ c->workers/
