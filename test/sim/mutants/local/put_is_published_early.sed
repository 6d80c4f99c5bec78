# file: src/store/row.c
# what: a row that arrives is visible before its values are
/^int row_put/,/^}/ s/fill_slot(/directory_publish(spot_word(s), directory_main(slot, s.part->arrivals * 7)); &/
