# file: src/protocol/owner.c
# what: who joins is not told who has its rows
# run: protocol --seed 6 --nodes 0 --script join --technique adaptive --schedule 0
/^void owner_claim(/,/^}/ s/ \&\& home == row_ref_home(ref)//
