# file: src/scheduling/candidates.c
# what: a variable that is under way keeps its weight
# run: schedule --seed 1
s/if (c->change) weights_set(&c->weights, \*variable, 0);//
