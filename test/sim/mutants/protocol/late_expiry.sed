# file: src/actors/intents.c
# what: an intent that has ended stays active
/^static void look_at/,/^}/ s/while (first(&w->active) <= now)/while (false)/
