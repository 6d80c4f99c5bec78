# file: src/protocol/round.c
# what: who joins is not told what is fresh, because refreshes for the one before it never left
# run: protocol --seed 1893 --nodes 0 --script join --technique adaptive --schedule 0
/^void round_forget(/,/^}/ s/b->refreshes_left = b->refreshes_queued;//
