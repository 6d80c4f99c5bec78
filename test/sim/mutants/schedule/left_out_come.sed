# file: src/scheduling/schedule.c
# what: a variable that is left out of a schedule that goes on is in its rounds
# run: schedule --seed 10
s/if (change < 0)$/if (change < -1e9)/
