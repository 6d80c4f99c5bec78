# file: src/protocol/clocks.c
# what: copies count as fresh before the refreshes have left
# run: exhaustive --scenario "replicate 1:keep,clock,bound,pull 0:push,push,clock"
/^static void say_fresh/,/^}/ s/ || s->backlog->peer\[n\].refreshes_left < p->aim_at//
