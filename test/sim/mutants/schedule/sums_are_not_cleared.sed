# file: src/scheduling/scheduler.c
# what: a round begins with the sums of another
# run: schedule --seed 1
s|int rc = locus_set(s->worker, others, 2, s->clear);|int rc = 0;|
