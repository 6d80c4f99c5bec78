# file: src/protocol/origin.c
# what: a push that comes back to its origin, where the row is now, is not applied
/^static void serve_own/,/^}/ s/if (e->operation == WIRE_PUSH)/if (false)/
