# file: src/actors/turn.h
# what: a thread that wakes does not say that it waits for its turn, and the worker keeps that
# run: turn --seed 16
/^static inline void turn_take_back(/,/^}/{/fetch_or/d}
