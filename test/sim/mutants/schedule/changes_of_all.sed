# file: src/scheduling/port.c
# what: a worker says what others' variables have changed by
s/if (parts\[i\].worker == p->number) p->synced/p->synced/
