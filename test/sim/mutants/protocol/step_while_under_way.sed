# file: src/api/reading.c
# what: a row takes a step in place although an update of it is under way
# run: protocol --seed 2836 --nodes 0 --script stress --technique relocate --schedule 0
/^static .* int step_slowly/,/^}/ s/ && !operations_hold(&w->operations, &key, 1)//
