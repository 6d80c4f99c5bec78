# file: src/protocol/clocks.c
# what: a clock is said although writes are under way
# run: --script bounds
/^static bool can_look/,/^}/ s/ && c->open\[c->later_open ^ 1\] == 0//
