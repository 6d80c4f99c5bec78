# file: src/scheduling/schedule.c
# what: what did not change has no weight
# run: schedule --seed 1
s/change \* change + s->config.eta/change * change/
