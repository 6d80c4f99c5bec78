# file: src/scheduling/schedule.c
# what: the filter sees the round alone
s/m->before = collect_window(s);/m->before = 0;/
