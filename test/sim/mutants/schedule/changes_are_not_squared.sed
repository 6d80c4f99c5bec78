# file: src/scheduling/candidates.c
# what: the weight is the change
s/change \* change + /change + /
