# file: src/scheduling/schedule.c
# what: what never changes comes by its eta alone
# run: schedule --seed 9
s/s->unseen || s->candidates % TURN == 0/s->unseen/
