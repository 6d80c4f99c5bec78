# file: src/scheduling/schedule.c
# what: the total is not mended
# run: schedule --seed 1
s/for (node \/= 2; node > 0;/for (node \/= 2; node > 1;/
