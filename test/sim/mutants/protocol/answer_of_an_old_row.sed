# file: src/protocol/origin.c
# what: a pull that comes back to its origin is answered with what its array held
/^void origin_came_back/,/^}/ s/^.*shard_read_state : shard_read)(ref, values);/(void)values;/
