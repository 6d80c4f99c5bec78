# file: src/store/row.c
# what: a row that leaves is copied before its key is latched
/^int row_take/,/^}/ {
s/directory_word w = latch_here/directory_word before = directory_load(spot_word(s)); if (directory_state(before) == DIRECTORY_MAIN) floats_copy(values, slot_row(s.part, before), s.part->length);\n    &/
s/^        floats_copy(values, slot_row(s\.part, w), s\.part->length);/        (void)0;/
}
