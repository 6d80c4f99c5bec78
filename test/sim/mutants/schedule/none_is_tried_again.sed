# file: src/scheduling/scheduler.c
# what: a scheduler that has found no round looks for one again and again
# run: schedule --seed 2967
s/if (!has_tried \&\& /if (/
