# file: src/protocol/saves.c
# what: what is written while a row is saved is never saved
# run: protocol --seed 36 --nodes 0 --script survive --technique adaptive --schedule 0
/^static size_t save(/,/^}/ { /^    row_clean(ref);/d; s/^    row_read_version(ref, values, &w);/&\n    row_clean(ref);/ }
