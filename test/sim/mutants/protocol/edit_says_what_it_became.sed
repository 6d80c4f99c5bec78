# file: src/store/row.c
# what: the owner is told what a replica has become instead of what it has gained
/^int row_edit_shared/,/^}/ s/s.part->gain(\(.*\), before, row, s.part->length, .*);/floats_copy(\1, row, s.part->length);/
