# file: src/scheduling/schedule.c
# what: the filter sees the round alone
# run: schedule --seed 1
s/m->before = collect_window(s);/m->before = 0;/
