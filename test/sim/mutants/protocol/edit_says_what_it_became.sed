# file: src/store/row.c
# what: the owner is told what a replica has become instead of what it has gained
/^int row_edit_shared/,/^}/ s/p->gain(\(.*\), before, row, p->length, .*);/floats_copy(\1, row, p->length);/
