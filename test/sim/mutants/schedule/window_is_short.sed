# file: src/scheduling/schedule.c
# what: the filter does not see the oldest round of the window
# run: schedule --seed 1
s/s->given + 1 > s->config.window ? s->given + 1 - s->config.window/s->given + 2 > s->config.window ? s->given + 2 - s->config.window/
