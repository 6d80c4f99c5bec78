# file: src/store/row_replica.c
# what: a replica that becomes the row adds what it has added before once more
# run: exhaustive --scenario "adaptive 1:begin,keep,end,push 0:begin,end"
/^int row_promote_as_it_is/,/^}/ s/^    promote(m, s, w, slot);/    if (w \& DIRECTORY_DIRTY) s.partition->gain(partition_row(s.partition, slot), unsent_row(s.partition, w), slot_row(s.partition, w), s.partition->length, true);\n&/
