# file: src/actors/turn.h
# what: who has news while a worker acts for the shard relies on that worker to tell the thread
# run: turn --seed 1
/^static inline bool turn_want(/,/^}/s/was != 0 && /!(was \& TURN_WORKERS) \&\& was != 0 \&\& /
