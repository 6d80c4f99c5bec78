# file: src/scheduling/schedule.c
# what: a variable that is under way keeps its weight
# run: schedule --seed 1
s/if (s->change) weights_set(&s->weights, local, 0);//
