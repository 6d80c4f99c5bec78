# file: src/protocol/clocks.c
# what: a clock that is awaited is said to a node that is no member
# run: protocol --seed 200 --nodes 0 --script join --technique adaptive --schedule 0
/^void clocks_wait(/,/^}/ s/ \&\& c->peer\[n\]\.updated < INT64_MAX//
