# file: src/protocol/owner.c
# what: a remote push is applied twice
# by: exhaustive
/^static void serve_write/,/^}/ s/shard_write(.*);/&\n    if (add) &/
