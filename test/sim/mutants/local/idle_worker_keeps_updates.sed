# file: src/store/copies.c
# what: what a worker keeps that uses no copies any more stays there
# run: copies --seed 1053
/^static bool is_idle(/,/^}/s/> 2 \* COPIES_AGE_NS/> 2000 * COPIES_AGE_NS/
