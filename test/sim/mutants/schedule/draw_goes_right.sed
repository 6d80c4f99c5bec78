# file: src/scheduling/schedule.c
# what: what is left of a branch is not taken off
# run: schedule --seed 1
s/rest -= w->sum\[node\];//
