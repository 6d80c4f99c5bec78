# file: src/protocol/origin.c
# what: a push that comes back to its origin, where the row is now, is not applied
# run: protocol --seed 7 --nodes 0 --script shared --technique adaptive --schedule 0
/^void origin_came_back/,/^}/ s/if (e->operation == WIRE_PUSH)/if (false)/
