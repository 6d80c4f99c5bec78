# file: src/protocol/repair.c
# what: requests that waited for credit during a repair are not woken
# run: exhaustive --scenario "lose=1 1:localize,push 2:pull"
/^static void end(/,/^}/ s/origin_wake_stalled(s);//
