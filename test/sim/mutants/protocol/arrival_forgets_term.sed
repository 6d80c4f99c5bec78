# file: src/protocol/handover.c
# what: a row's term is not kept with it
# run: protocol --seed 1 --nodes 0 --script phases --technique adaptive --schedule 0
/^void handover_put(/,/^}/ s/= e->term;/= e->term > 1 ? e->term - 1 : 1;/
