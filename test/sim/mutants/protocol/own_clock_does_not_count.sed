# file: src/protocol/clocks.c
# what: an owner does not wait for its own workers
# run: exhaustive --scenario "replicate 1:keep,clock,bound,pull 0:push,push,clock"
/^static locus_clock least_updated/,/^}/ s/least = smaller/if (n != s->rank) least = smaller/
