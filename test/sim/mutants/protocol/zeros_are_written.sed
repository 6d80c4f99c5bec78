# file: src/store/row.c
# what: who first writes a replica of zeros writes into the zeros that all such replicas share
/^static bool materialize/,/^}/ s/if (!partition_is_zeros(s.partition, \*w)) return true;/return true;/
