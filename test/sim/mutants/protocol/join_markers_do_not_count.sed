# file: src/protocol/loss.c
# what: the markers of who joins are those of the one before it
# run: protocol --seed 2 --nodes 0 --script join --technique adaptive --schedule 0
/^void loss_pass(/,/^}/ s/if (!l->is_member\[n\]).*$/(void)n;/
