# file: src/store/row.c
# what: a replica that becomes the row adds what it has added before once more
# by: exhaustive
/^int row_promote_as_it_is/,/^}/ s/^    promote(m, s, w, slot);/    if (w \& DIRECTORY_DIRTY) s.part->add(part_row(s.part, slot), updates_row(s.part, w), s.part->length);\n&/
