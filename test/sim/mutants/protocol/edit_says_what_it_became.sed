# file: src/store/row.c
# what: the owner is told what a replica has become instead of what it has gained
/^int row_edit_shared/,/^}/ s/update\[i\] = row\[i\] - update\[i\]/update[i] = row[i]/
