# file: src/protocol/clocks.c
# what: a clock is said although updates that came before it were not sent
# by: exhaustive
/^static void say_updated/,/^}/ s/ || !clocks_is_sent(s, c->look)//
