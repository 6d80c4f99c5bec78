# file: src/protocol/clocks.c
# what: copies count as fresh while refreshes are ignored
# run: exhaustive --scenario "replicate 1:keep,clock,push 0:push,clock,bound"
/^const char \*clocks_entry/,/^}/ s/if (!s->backlog->peer\[a->peer\].is_under_way) //
