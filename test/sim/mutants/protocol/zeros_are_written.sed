# file: src/store/row.c
# what: who first writes a replica of zeros writes into the zeros that all such replicas share
# run: protocol --seed 1 --nodes 0 --script phases --technique adaptive --schedule 0
/^static bool materialize/,/^}/ s/if (!partition_is_zeros(s.partition, \*w)) return true;/return true;/
