# file: src/scheduling/port.c
# what: a worker says what others' variables have changed by
s/if (parts\[i\].worker == p->number) p->sync_row/p->sync_row/
