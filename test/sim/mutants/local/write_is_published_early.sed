# file: src/store/row.h
# what: a write unlatches the key before it changes the row
# run: local_fibers --seed 4
s/float \*row = row_at(s, w);/& directory_publish(row_ref_word(s), w + DIRECTORY_VERSION_ONE);/
