# file: src/scheduling/schedule.c
# what: what is done is not the oldest round
# run: schedule --seed 1
s/round_at(s, s->done);/round_at(s, s->done + 1);/
