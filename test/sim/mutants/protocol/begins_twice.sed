# file: src/actors/rounds.c
# what: two intents of one node count as one
/^void rounds_unwant/,/^}/ s/if (--r->wanted > 0) return;/r->wanted = 0;/
