# file: src/store/row.c
# what: a row counts as never written that came while it was looked at
# run: protocol --seed 1 --nodes 0 --script survive --technique adaptive --schedule 0
/^int row_read_slowly(/,/^}/ s/if (directory_is_unchanged(row_ref_word(s), w)) return place;/return place;/
