# file: src/store/row.c
# what: the owner is told what a replica has become instead of what it has gained
# run: protocol --seed 1 --nodes 0 --script phases --technique adaptive --schedule 0
/^int row_edit_shared/,/^}/ { /if (replica)$/{N;N}; s/s.partition->gain(\(.*\), before, row, s.partition->length,.*);/floats_copy(\1, row, s.partition->length);/ }
