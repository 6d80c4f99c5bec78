# file: src/protocol/holders.c
# what: a change does not raise the version
# by: exhaustive
/^void holders_note_word/,/^}/ s/r->version++;/(void)0;/
