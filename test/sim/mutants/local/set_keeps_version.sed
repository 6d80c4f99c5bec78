# file: src/store/row.h
# what: a set does not raise the version
/^static inline void row_write_latched/,/^}/ s/row_publish(s, w)/row_publish(s, change == ROW_SET ? w - DIRECTORY_VERSION_ONE : w)/
