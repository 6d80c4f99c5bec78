# file: src/protocol/clocks.c
# what: a clock is said although writes are under way
# run: protocol --seed 2 --nodes 0 --script bounds --technique relocate --schedule 0
/^static bool can_divide/,/^}/ s/ && c->open\[c->later_open ^ 1\] == 0//
