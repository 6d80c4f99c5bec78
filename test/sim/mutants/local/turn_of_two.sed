# file: src/actors/turn.h
# what: a thread that wakes acts beside the worker
# run: turn --seed 1
/^static inline void turn_take_back(/,/^}/s/while (!turn_is_left(t))/while (0)/
