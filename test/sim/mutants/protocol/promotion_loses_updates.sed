# file: src/store/row.c
# what: a main copy that comes to a replica hides what was added there
# by: exhaustive
/^int row_promote/,/^}/ s/s\.partition->add(.*);/(void)0;/
