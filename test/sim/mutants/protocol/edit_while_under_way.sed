# file: src/api/reading.c
# what: a row is edited although an update of it is under way
# run: protocol --seed 622 --nodes 0 --script storm --technique relocate --schedule 0
/^static .* int change_slowly/,/^}/ s/ && !operations_hold(&w->operations, &key, 1)//
/^int locus_change_local/,/^}/ s/ && w->operations.keys_under_way == 0//
