# file: src/protocol/handover.c
# what: a row's term is not kept with it
/^void handover_put(/,/^}/ s/= e->term;/= e->term > 1 ? e->term - 1 : 1;/
