# file: src/protocol/origin.c
# what: a push is acknowledged without the version that the origin's replica must show
# by: exhaustive
/^static void serve_write/,/^}/ s/if (a && r && owner_holder(r, e->origin))/if (false)/
