# file: src/intents/intents.c
# what: a want that was looked at once is looked at again and again, and never ends
# run: protocol --seed 1 --nodes 0 --script early --technique adaptive --schedule 0
/^static void end_due/,/^}/ s/locus_clock until = .*;/locus_clock until = now + 1;/
