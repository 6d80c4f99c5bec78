# file: src/store/row_replica.c
# what: after a refresh of values of 16 bits the record still begins with those from before
# run: protocol --seed 4 --nodes 0 --script shared --technique adaptive --schedule 0
s/^        floats_copy(unsaid, values, p->packed);//
