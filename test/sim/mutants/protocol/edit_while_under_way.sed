# file: src/api/reading.c
# what: a row is edited, or takes a step, although an update of it is under way
# run: protocol --seed 40 --nodes 0 --script stress --technique relocate --schedule 0
/^static .* is_free/,/^}/ s/!(operations_hold_key.*/true;/
