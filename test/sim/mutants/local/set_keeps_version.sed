# file: src/store/row.h
# what: a set does not raise the version
# run: local_fibers --seed 243
/^static inline void row_write_latched/,/^}/ s/row_publish(word, w)/row_publish(word, change == ROW_SET ? w - DIRECTORY_VERSION_ONE : w)/
