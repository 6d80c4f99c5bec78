# file: src/actors/rounds.c
# what: what was added to a replica while its entry was under way is never sent
# by: exhaustive
/^static void note_change/,/^}/ s/r->is_later = true;/(void)0;/
