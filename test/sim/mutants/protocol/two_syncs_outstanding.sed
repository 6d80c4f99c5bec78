# file: src/protocol/replica.c
# what: a key may have two entries under way
# run: exhaustive --scenario "adaptive 1:keep,begin,unkeep,push 0:begin"
s/ || r->sync) return 0;/) return 0;/
s/    if (r->sync) return;/    (void)0;/
s/if (l.is_here || r->sync || (/if (l.is_here || (/
