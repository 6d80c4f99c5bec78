# file: src/store/row.c
# what: an edit of a shared row leaves no mark
/^int row_edit_shared/,/^}/ s/publish_dirty(s, w + DIRECTORY_VERSION_ONE)/directory_publish(row_ref_word(s), w + DIRECTORY_VERSION_ONE)/
