# file: src/protocol/owner.c
# what: whether a replica is fresh is decided by what was sent to it, not by the version that it says to have
# by: exhaustive
/^static void serve_entry/,/^}/ s/e->version == owner_version(r, spot)/owner_holder(r, e->origin) \&\& owner_holder(r, e->origin)->seen == owner_version(r, spot)/
