# file: src/scheduling/schedule.c
# what: a worker has the same block again
s/ + s->given) % c->variables/) % c->variables/
