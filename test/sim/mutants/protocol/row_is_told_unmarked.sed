# file: src/store/row.h
# what: a row that has replicas, or is one, is changed by its latch alone before it is marked
# run: protocol --seed 1 --nodes 0 --script phases --technique adaptive --schedule 0
/^static .* row_is_told/,/^}/ s/directory_is_dirty(w)/directory_is_readable(w)/
