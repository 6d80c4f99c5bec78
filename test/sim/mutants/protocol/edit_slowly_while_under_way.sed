# file: src/api/reading.c
# what: a row is edited although an update of it is under way: the slow way does not ask
# run: protocol --seed 505 --nodes 0 --script stress --technique relocate --schedule 0
/^static .* int change_slowly/,/^}/ s/ && !operations_hold(&w->operations, &key, 1)//
