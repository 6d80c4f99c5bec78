# file: src/store/row.h
# what: an edited row keeps its version
# run: local_fibers --seed 7
/^static inline void row_publish/,/^}/ s/w + DIRECTORY_VERSION_ONE/w/
