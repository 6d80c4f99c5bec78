# file: src/scheduling/port.c
# what: a sum is taken before the last worker has pushed
# run: schedule --seed 1
s/p->sums\[0\] >= (float)p->workers)/p->sums[0] >= (float)p->workers - 1)/
