# file: src/store/row.c
# what: a row that arrives is visible before its values are
# run: local_fibers --seed 11
/^int row_put/,/^}/ s/fill_slot(/directory_publish(row_ref_word(s), directory_main(slot, s.partition->arrivals * 7)); &/
