# file: src/store/row.c
# what: a refresh hides what was added to the replica
# by: exhaustive
/^void row_refresh/,/^}/ s/s\.partition->add(.*);/(void)0;/
