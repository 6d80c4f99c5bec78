# file: src/protocol/origin.c
# what: a pull that comes back to its origin is answered with what its array held
/^void origin_came_back/,/^}/ s/if (e->operation == WIRE_PULL) shard_read(ref, values);/(void)values;/
