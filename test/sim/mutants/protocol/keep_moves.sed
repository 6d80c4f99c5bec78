# file: src/protocol/owner.c
# what: a row moves to who intends it for ever
# run: --script kept
/^const char \*owner_sync/,/^}/ s/e->flags == WIRE_BEGIN && lets_go/begins \&\& lets_go/
