# file: src/store/row.c
# what: a reader that lost patience copies without the latch
/^static int read_latched/,/^}/ {
s/= latch_here([^)]*)/= directory_load(s.word) | DIRECTORY_LATCH/
s/directory_publish(s\.word, w & ~DIRECTORY_LATCH);//
}
