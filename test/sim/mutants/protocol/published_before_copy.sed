# file: src/store/row.c
# what: a row that arrives is published before it is copied
/^int row_put(/,/^}/ s/fill_slot(/directory_publish(row_ref_word(s), directory_main(slot, 7)); &/
