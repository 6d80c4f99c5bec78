# file: src/protocol/saves.c
# what: a row is saved at the heir though its home is another node
# run: protocol --seed 1 --nodes 0 --script survive --schedule 0
/^static unsigned guardian/,/^}/ s/return .*/return loss_heir(s->losses, ref);/
