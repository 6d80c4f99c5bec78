# file: src/intents/intents.c
# what: an intent becomes active one clock after its start
# run: protocol --seed 5 --nodes 0 --script early --technique adaptive --schedule 0
/^static void begin_due/,/^}/ s/first(&w->waiting) - now < lookahead/first(\&w->waiting) < now/
