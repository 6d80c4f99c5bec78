# file: src/protocol/loss.c
# what: who joins knows nothing of the homes that passed before
# run: protocol --seed 6 --nodes 0 --script join --technique adaptive --schedule 0
/^static void replay(/,/^}/ s/loss_pass(s);//
