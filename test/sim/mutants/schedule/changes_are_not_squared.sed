# file: src/scheduling/schedule.c
# what: the weight is the change
# run: schedule --seed 1
s/change \* change + /change + /
