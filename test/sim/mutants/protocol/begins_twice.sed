# file: src/protocol/replica.c
# what: two intents of one node count as one
/^void replica_unwant/,/^}/ s/if (--\(s->records.state\[index\].wanted\) > 0) return;/\1 = 0;/
