# file: src/store/optimizer.c
# what: a row that is set keeps the state that it had
# run: protocol --seed 14 --nodes 0 --script stress --technique relocate --schedule 0
/case ROW_SET:/,/break/ s/floats_zero(.*);/(void)0;/
