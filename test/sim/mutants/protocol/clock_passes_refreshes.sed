# file: src/protocol/clocks.c
# what: copies count as fresh before the refreshes have left
# by: exhaustive
/^static void say_fresh/,/^}/ s/ || s->backlog->peer\[n\].refreshes_left < p->aim_at//
