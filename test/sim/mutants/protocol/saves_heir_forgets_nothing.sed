# file: src/protocol/saves.c
# what: the heir keeps its save of a row that its home gave away
# run: protocol --seed 4 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void forget/,/^}/ s/else if (heir != peer)/else if (s->nodes == 0)/
