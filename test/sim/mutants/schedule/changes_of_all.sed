# file: src/scheduling/port.c
# what: a worker says what others' variables have changed by
# run: schedule --seed 2
s/if (parts\[i\].worker == p->number) p->sync_row/p->sync_row/
