# file: src/actors/rounds.c
# what: a refresh is applied over an update that is under way
# by: exhaustive
/^const char \*rounds_refresh/,/^}/ s/r->has_update || //
