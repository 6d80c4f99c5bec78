# file: src/store/row.h
# what: a set does not raise the version
s/directory_publish(spot_word(s), w + DIRECTORY_VERSION_ONE)/directory_publish(spot_word(s), change == ROW_SET ? w : w + DIRECTORY_VERSION_ONE)/
