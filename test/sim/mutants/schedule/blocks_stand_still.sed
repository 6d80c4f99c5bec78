# file: src/scheduling/schedule.c
# what: a worker has the same block again
# run: schedule --seed 14
s/ + s->given) % c->variables/) % c->variables/
