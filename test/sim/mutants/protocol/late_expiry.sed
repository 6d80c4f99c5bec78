# file: src/protocol/intents.c
# what: an intent that has ended stays active
/^static void end_until/,/^}/ s/clock_heap_first(&w->active) <= now/now == INT64_MAX/
