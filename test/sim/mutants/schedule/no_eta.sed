# file: src/scheduling/candidates.c
# what: what did not change has no weight
# run: schedule --seed 1
s/change \* change + c->config->eta/change * change/
