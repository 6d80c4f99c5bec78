# file: src/scheduling/schedule.c
# what: the worker follows from the place in the round
s/(uint32_t)(variable % c->workers)/(uint32_t)(i % c->workers)/
