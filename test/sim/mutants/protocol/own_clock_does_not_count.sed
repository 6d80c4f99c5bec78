# file: src/protocol/clocks.c
# what: an owner does not wait for its own workers
# by: exhaustive
/^static locus_clock least_updated/,/^}/ s/least = smaller/if (n != s->rank) least = smaller/
