# file: src/protocol/owner.c
# what: localize takes a row away although other nodes hold replicas
# by: exhaustive
/^static bool lets_go/,/^}/ s/if (r && r->holders > 0) return false;//
/^static bool lets_go/,/^}/ s/ && !is_wanted(s, index);/;/
