# file: src/protocol/intents.c
# what: of several active intents for a key the one that ends first is kept
/^static int latest_first/,/^}/ s/return (x < y) - (x > y);/return (x > y) - (x < y);/
