# file: src/scheduling/port.c
# what: a round is intended for one clock, although it ends in a later one
# run: schedule --seed 8
s/clock + (locus_clock)p->mail.window)/clock + 1)/
