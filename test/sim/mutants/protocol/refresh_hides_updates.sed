# file: src/store/row_replica.c
# what: a refresh hides what was added to the replica
# by: exhaustive
/^void row_refresh/,/^}/ s/merge_updates(.*);/(void)0;/
