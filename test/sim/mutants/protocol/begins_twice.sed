# file: src/actors/rounds.c
# what: two intents of one node count as one
/^void rounds_unwant/,/^}/ s/if (--\(s->records.standing\[index\].wanted\) > 0) return;/\1 = 0;/
