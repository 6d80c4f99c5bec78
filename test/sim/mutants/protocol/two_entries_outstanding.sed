# file: src/protocol/replica.c
# what: a key may have two entries under way
# by: exhaustive
s/ || r->is_out) return 0;/) return 0;/
s/    if (r->is_out) return;/    (void)0;/
s/if (l.is_here || r->is_out || (/if (l.is_here || (/
