# file: src/protocol/clocks.c
# what: a clock is said that passed after the changes were looked at
# by: exhaustive
/^static void say_updated/,/^}/ s/c->reading)/lowest(s))/
