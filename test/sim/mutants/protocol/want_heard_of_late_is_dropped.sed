# file: src/intents/intents.c
# what: a want that is read after its first end is dropped, although it was named again
# run: protocol --seed 16 --nodes 0 --script early --technique adaptive --schedule 0
/^static void begin_due/,/^}/ s/ && !outlasts(w, b, now)//
