# file: src/protocol/owner.c
# what: localize takes a row away although other nodes hold replicas
# by: exhaustive
/^static bool lets_go/,/^}/ s/ && (!r || r->holders == 0) && .*;/;/
