# file: src/protocol/owner.c
# what: a row moves to who intends it for ever
# run: exhaustive --scenario "0:keep 1:keep,push,pull"
/^const char \*owner_sync/,/^}/ s/e->flags == WIRE_BEGIN && lets_go/begins \&\& lets_go/
