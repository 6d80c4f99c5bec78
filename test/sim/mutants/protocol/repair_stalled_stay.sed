# file: src/protocol/repair.c
# what: requests that waited for credit during a repair are not woken
# run: protocol --script survive --technique adaptive
/^static void end(/,/^}/ s/origin_wake_stalled(s);//
