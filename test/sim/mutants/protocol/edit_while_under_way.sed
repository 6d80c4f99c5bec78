# file: src/api/reading.c
# what: a row is edited although an update of it is under way
# run: --script storm --technique relocate
/^static .* int change_slowly/,/^}/ s/ && !operations_hold(&w->operations, &key, 1)//
/^int locus_change_local/,/^}/ s/ && w->operations.keys_under_way == 0//
