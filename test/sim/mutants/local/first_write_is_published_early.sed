# file: src/store/row.c
# what: a first write publishes its slot before the copy
# run: local_fibers --seed 37
/^static int write_first/,/^}/ s/write_new(/directory_publish(row_ref_word(s), directory_main(slot, 1)); &/
