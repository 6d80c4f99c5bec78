# file: src/store/row.c
# what: the owner is told what a replica has become instead of what it has gained
/^int row_edit_shared/,/^}/ s/floats_gain(update, row, p->length)/floats_copy(update, row, p->length)/
