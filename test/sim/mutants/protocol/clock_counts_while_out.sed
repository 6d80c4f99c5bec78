# file: src/protocol/clocks.c
# what: copies count as fresh while refreshes are ignored
# by: exhaustive
/^const char \*clocks_entry/,/^}/ s/if (!s->backlog->peer\[a->peer\].is_under_way) //
