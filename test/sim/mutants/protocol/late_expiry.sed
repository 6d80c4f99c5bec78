# file: src/intents/intents.c
# what: an intent that has ended stays active
# run: protocol --seed 5 --nodes 0 --script early --technique adaptive --schedule 0
/^static void end_due/,/^}/ s/clock_heap_first(&w->active) <= now/now < 0/
