# file: src/store/row.h
# what: an edited row keeps its version
/^static inline void row_publish/,/^}/ s/w + DIRECTORY_VERSION_ONE/w/
