# file: src/store/directory.h
# what: a reader does not look again whether a writer was there
# run: local_fibers --seed 7
s/return __atomic_load_n(word, __ATOMIC_RELAXED) == w;/return (void)word, (void)w, true;/
