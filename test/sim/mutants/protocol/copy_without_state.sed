# file: src/store/row_replica.c
# what: a replica gets the values without the state
# run: protocol --seed 13 --nodes 0 --script bounds --technique adaptive --schedule 0
/^void row_read_version/,/^}/ s/s\.partition->stored/s.partition->length/
