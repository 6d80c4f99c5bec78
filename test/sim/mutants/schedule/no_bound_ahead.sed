# file: src/scheduling/schedule.c
# what: a round more than there is room for is given
# run: schedule --seed 4
s/s->given - s->done == LOCUS_SCHEDULE_AHEAD_MAX)/s->given - s->done == LOCUS_SCHEDULE_AHEAD_MAX + 1)/
