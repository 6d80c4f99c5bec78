# file: src/scheduling/schedule.c
# what: a worker has the same block again
# run: schedule --seed 14
s/ % c->variables + s->given;/ % c->variables;/
