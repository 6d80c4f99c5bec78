# file: src/protocol/intents.c
# what: an intent becomes active one clock after its start
/^static void begin_due/,/^}/ s/first(&w->waiting) - now < lookahead/first(\&w->waiting) < now/
