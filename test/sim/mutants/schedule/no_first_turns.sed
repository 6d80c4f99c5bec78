# file: src/scheduling/schedule.c
# what: priorities count before each had its first turn
# run: schedule --seed 1
s|? s->count : 0;|? 0 : 0;|
