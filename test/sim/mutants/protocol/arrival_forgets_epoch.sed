# file: src/protocol/handover.c
# what: a row's epoch is not kept with it
/^void handover_put(/,/^}/ s/= e->epoch;/= e->epoch > 1 ? e->epoch - 1 : 1;/
