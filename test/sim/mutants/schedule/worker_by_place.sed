# file: src/scheduling/schedule.c
# what: the worker follows from the place in the round
# run: schedule --seed 1
s/(uint32_t)(variable % c->workers)/(uint32_t)(i % c->workers)/
