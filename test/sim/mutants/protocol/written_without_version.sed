# file: src/protocol/owner.c
# what: a push is acknowledged without the version that the origin's replica must show
# run: exhaustive --scenario "0:keep 1:keep,push,pull"
/^static void serve_write/,/^}/ s/if (a && r && holder_find(r, e->origin))/if (false)/
