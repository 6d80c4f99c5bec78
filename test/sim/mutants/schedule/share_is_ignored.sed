# file: src/scheduling/schedule.c
# what: all shares have the variables of the first
# run: schedule --seed 1
s/local \* s->config.shares + s->config.share/local * s->config.shares/
