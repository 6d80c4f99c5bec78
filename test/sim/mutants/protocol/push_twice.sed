# file: src/protocol/owner.c
# what: a remote push is applied twice
# run: exhaustive --scenario "0:localize,push 1:localize,push"
/^static void serve_write/,/^}/ s/shard_write(.*);/&\n    if (add) &/
