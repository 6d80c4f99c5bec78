# file: src/protocol/dispatch.c
# what: a row's term is not kept with it
# run: protocol --seed 1 --nodes 0 --script phases --technique adaptive --schedule 0
/^static void take_in(/,/^}/ s/= e->term;/= e->term > 1 ? e->term - 1 : 1;/
