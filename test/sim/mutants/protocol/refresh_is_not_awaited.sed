# file: src/protocol/round.c
# what: quiesce does not wait for the acknowledgement of refreshes
/^static bool has_no_refresh/,/^}/ { /owes &&$/N; s/ &&\n *!(b->is_under_way .*refreshes)// }
