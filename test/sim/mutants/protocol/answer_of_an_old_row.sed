# file: src/protocol/origin.c
# what: a pull that comes back to its origin is answered with what its array held
/^static void serve_own/,/^}/ s/if (e->operation == WIRE_PULL) shard_read(spot, values);/(void)values;/
