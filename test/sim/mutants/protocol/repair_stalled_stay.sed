# file: src/protocol/repair.c
# what: requests that waited for credit during a repair are not woken
# run: protocol --seed 5822 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void end(/,/^}/ s/origin_wake_stalled(s);//
