# file: src/store/row.c
# what: a row that leaves is copied before its key is latched
# run: local_fibers --seed 4
/^int row_take/,/^}/ {
s/directory_word w = latch_here/directory_word before = directory_load(row_ref_word(s)); if (directory_state(before) == DIRECTORY_MAIN) floats_copy(values, slot_row(s.partition, before), s.partition->stored);\n    &/
s/^        floats_copy(values, slot_row(s\.partition, w), s\.partition->stored);/        (void)0;/
}
