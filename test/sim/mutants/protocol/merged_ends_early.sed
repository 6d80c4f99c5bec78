# file: src/intents/intents.c
# what: of several active intents for a key the one that ends first is kept
# run: protocol --seed 1 --nodes 0 --script early --technique adaptive --schedule 0
/^static int latest_first/,/^}/ s/return (x < y) - (x > y);/return (x > y) - (x < y);/
