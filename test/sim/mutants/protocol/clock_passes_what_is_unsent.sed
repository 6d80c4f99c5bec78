# file: src/protocol/clocks.c
# what: a clock is said although updates that came before it were not sent
# run: exhaustive --scenario "adaptive 1:begin,push,clock,bound 0:begin,clock"
/^void clocks_say/,/^}/ s/ && clocks_is_sent(s, c->interval)//
