# file: src/scheduling/candidates.c
# what: a variable that is left out has a weight as soon as a change of it is told
# run: schedule --seed 15
s/if (weights_get(&c->weights, variable) > 0) weigh/weigh/
