# file: src/protocol/clocks.c
# what: a clock is said that passed after the changes were looked at
# run: exhaustive --scenario "static 1:push*,clock,push*,clock 0:clock,clock,bound"
/^void clocks_say/,/^}/ s/c->reading);/lowest(s));/
