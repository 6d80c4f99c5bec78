# file: src/protocol/dispatch.c
# what: who forwards a request says that it knows a later term than it does
# run: protocol --seed 1 --nodes 0 --script phases --technique adaptive --schedule 0
/^static const char \*forward(/,/^}/ s/on.term = to.term;/on.term = to.term + 1;/
