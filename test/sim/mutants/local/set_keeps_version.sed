# file: src/store/row.h
# what: a set does not raise the version
s/directory_publish(s\.word, w + DIRECTORY_VERSION_ONE)/directory_publish(s.word, change == ROW_SET ? w : w + DIRECTORY_VERSION_ONE)/
