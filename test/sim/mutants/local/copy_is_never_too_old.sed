# file: src/store/copies.c
# what: a worker that often uses a copy never looks how old the others are
# run: copies --seed 4
s/now_ns - c->swept_ns >= COPIES_AGE_NS/now_ns - c->swept_ns >= 100 * COPIES_AGE_NS/
