# file: src/protocol/owner.c
# what: whether a replica is fresh is decided by what was sent to it, not by the version that it says to have
# run: exhaustive --scenario "adaptive 0:begin 1:begin,push,end"
/^static void take_sync/,/^}/ s/e->version == holders_version(r, ref)/holder_find(r, e->origin) \&\& holder_find(r, e->origin)->seen == holders_version(r, ref)/
