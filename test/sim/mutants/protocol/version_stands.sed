# file: src/protocol/holders.c
# what: a change does not raise the version
# run: exhaustive --scenario "adaptive 0:keep 1:keep,push"
/^void holders_note_word/,/^}/ s/r->version++;/(void)0;/
