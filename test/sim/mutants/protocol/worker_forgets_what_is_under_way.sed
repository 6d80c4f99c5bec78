# file: src/worker/operation.c
# what: a worker accesses a row in place although an operation of its own on that key is under way
# run: protocol --seed 126 --nodes 0 --script stress --technique relocate --schedule 0
/^bool operations_hold/,/^}/ s/return may_be_under_way.*/return false;/
