# file: src/intents/intents.c
# what: a want ends when it was first said to end, although it was named again
# run: protocol --seed 2 --nodes 0 --script early --technique adaptive --schedule 0
/^static void end_due/,/^}/ s/if (until > now)/if (until > now \&\& 0)/
