# file: src/protocol/clocks.c
# what: copies count as fresh before the refreshes have left
# run: exhaustive --scenario "replicate 1:keep,clock,bound,pull 0:push,push,clock"
/^static void send_markers/,/^}/ s/have_left = .*;/have_left = true;/
