# file: src/protocol/origin.c
# what: a pull that comes back to its origin is answered with what its array held
# run: protocol --seed 1 --nodes 0 --script intents --technique adaptive --schedule 0
/^void origin_came_back/,/^}/ s/^ *shard_read(ref, values, .*);/        (void)values;/
