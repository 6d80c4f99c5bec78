# file: src/protocol/location.c
# what: who forwards a request says that it knows a later epoch than it does
/^static void forward(/,/^}/ s/on->epoch = to.epoch;/on->epoch = to.epoch + 1;/
