# file: src/protocol/loss.c
# what: the oldest replica becomes the row
# run: protocol --seed 170 --nodes 0 --script survive --technique replicate --schedule 0
/^static int compare(/,/^}/ s/x->version > y->version ? -1 : 1/x->version > y->version ? 1 : -1/
