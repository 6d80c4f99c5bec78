# file: src/scheduling/candidates.c
# what: the weight is the change
# run: schedule --seed 1
s/change \* change + /change + /
