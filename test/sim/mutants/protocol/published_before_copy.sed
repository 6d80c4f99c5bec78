# file: src/store/row.c
# what: a row that arrives is published before it is copied
# run: protocol --seed 96 --nodes 0 --script race --technique relocate --schedule 0
/^int row_put(/,/^}/ s/fill_slot(/directory_publish(row_ref_word(s), directory_main(slot, 7)); &/
