# file: src/store/row.h
# what: a worker sets a replica that is marked
# run: protocol --seed 12 --nodes 0 --script kept --technique adaptive --schedule 0
/^static .* row_may_write/,/^}/ s/ && !(row_change_sets.*;/;/
