# file: src/store/row.c
# what: a reader that lost patience copies without the latch
/^static int read_latched/,/^}/ {
s/= latch_here([^)]*)/= directory_load(spot_word(s)) | DIRECTORY_LATCH/
s/directory_publish(spot_word(s), w & ~DIRECTORY_LATCH);//
}
