# file: src/scheduling/schedule.c
# what: a variable that is left out has a weight as soon as a change of it is told
# run: schedule --seed 15
s/if (weights_get(&s->weights, local) > 0) weigh/weigh/
