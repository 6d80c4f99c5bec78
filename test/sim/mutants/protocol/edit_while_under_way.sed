# file: src/api/reading.c
# what: a row is edited although an update of it is under way: the quick way does not ask
# run: protocol --seed 162 --nodes 0 --script stress --technique relocate --schedule 0
/^static .* is_easy/,/^}/ s/ && !operations_hold_key(&w->operations, key)//
