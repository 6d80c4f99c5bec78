# file: src/protocol/replica.c
# what: a key may have two entries under way
# by: exhaustive
s/ || r->in_flight) return 0;/) return 0;/
s/    if (r->in_flight) return;/    (void)0;/
s/if (l.is_here || r->in_flight || (/if (l.is_here || (/
