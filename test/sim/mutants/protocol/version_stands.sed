# file: src/protocol/owner.c
# what: a change does not raise the version
# run: exhaustive --scenario "adaptive 0:keep 1:keep,push"
/^static void note_word/,/^}/ s/r->version++;/(void)0;/
