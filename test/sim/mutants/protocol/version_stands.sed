# file: src/protocol/owner.c
# what: a change does not raise the version
# by: exhaustive
/^static void note_word/,/^}/ s/r->version++;/(void)0;/
