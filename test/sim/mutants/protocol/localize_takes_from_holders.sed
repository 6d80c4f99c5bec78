# file: src/protocol/owner.c
# what: localize takes a row away although other nodes hold replicas
# run: exhaustive --scenario "adaptive 1:begin,end,begin 0:begin"
/^static bool lets_go/,/^}/ s/if (r && r->holders > 0) return false;//
/^static bool lets_go/,/^}/ s/ && !is_wanted(s, index);/;/
