# file: src/actors/turn.h
# what: the thread sleeps, though news came after its last look
# run: turn --seed 8
/^static inline bool turn_leave(/,/^}/s/return .*/LOCUS_YIELD(); __atomic_store_n(\&t->word, to_worker ? TURN_NOBODYS : TURN_ASLEEP, __ATOMIC_SEQ_CST); return true;/
