# file: src/store/row.c
# what: an edit of a shared row leaves no mark
# run: protocol --seed 1 --nodes 0 --script phases --technique adaptive --schedule 0
/^static int edit_tracked/,/^}/ s/publish_changed(s, w, mine)/directory_publish(row_ref_word(s), w + DIRECTORY_VERSION_ONE)/
