# file: src/scheduling/schedule.c
# what: the filter does not see the oldest round of the window
s/s->given + 1 > s->config.window ? s->given + 1 - s->config.window/s->given + 2 > s->config.window ? s->given + 2 - s->config.window/
