# file: src/store/row_replica.c
# what: a replica gets the values without the state
/^void row_read_version/,/^}/ s/s\.partition->stored/s.partition->length/
