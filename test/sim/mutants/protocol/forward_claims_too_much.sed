# file: src/protocol/location.c
# what: who forwards a request says that it knows a later term than it does
/^static void forward(/,/^}/ s/on->term = to.term;/on->term = to.term + 1;/
