# file: src/store/row.c
# what: a row that is taken out stays here
# run: protocol --seed 1 --nodes 0 --script phases --technique adaptive --schedule 0
/^int row_take(/,/^}/ s/publish_moved(s, next);/directory_publish(row_ref_word(s), (w \& ~DIRECTORY_LATCH) + DIRECTORY_VERSION_ONE); return 0;/
