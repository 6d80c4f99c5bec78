# file: src/protocol/round.c
# what: quiesce does not wait for the acknowledgement of refreshes
/^static bool has_no_refresh/,/^}/ s/ && !(p->is_under_way && p->refreshes)//
