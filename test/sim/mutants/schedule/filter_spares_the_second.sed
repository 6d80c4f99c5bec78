# file: src/scheduling/schedule.c
# what: the filter is not asked about the second of a round
# run: schedule --seed 1
s/c->fits \&\& count > 0/c->fits \&\& count > 1/
