# file: src/store/copies.c
# what: a copy gets four times as old before it is exchanged
# run: copies --seed 152
/^static void sweep(/,/^}/s/copy->since_ns < COPIES_AGE_NS/copy->since_ns < 4 * COPIES_AGE_NS/
