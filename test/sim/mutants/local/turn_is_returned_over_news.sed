# file: src/actors/turn.h
# what: a worker lets the thread sleep on without a look whether it is wanted
# run: turn --seed 585
/^static inline bool turn_return(/,/^}/s/return .*/LOCUS_YIELD(); __atomic_store_n(\&t->word, TURN_NOBODYS, __ATOMIC_SEQ_CST); return true;/
