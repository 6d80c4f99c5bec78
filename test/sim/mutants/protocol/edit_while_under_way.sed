# file: src/worker.c
# what: a row is edited although an update of it is under way
/^int locus_change_local/,/^}/ s/(w->operations.keys_under_way == 0 || !operations_hold(&w->operations, &key, 1))/true/
