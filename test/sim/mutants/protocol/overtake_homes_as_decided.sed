# file: src/protocol/loss.c
# what: homes follow from those that were decided, not from all changes
# run: protocol --seed 11 --nodes 0 --script survive --technique adaptive --schedule 0
/^void loss_begin(/,/^}/ s/^        l->next_heir\[b\]/        if (!joins \&\& s->store->homes[s->number].node[b] != change.node) l->next_home[b] = s->store->homes[s->number].node[b];\n&/
