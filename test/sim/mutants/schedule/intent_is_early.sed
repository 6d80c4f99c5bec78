# file: src/scheduling/port.c
# what: a round is intended for the clock before
# run: schedule --seed 1
s/locus_clock clock = p->clock + (locus_clock)round;/locus_clock clock = p->clock + (locus_clock)round - 1;/
