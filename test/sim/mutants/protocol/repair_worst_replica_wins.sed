# file: src/protocol/repair.c
# what: the oldest replica becomes the row
# run: protocol --script survive --technique replicate
/^static int compare/,/^}/ s/x->version > y->version ? -1 : 1/x->version > y->version ? 1 : -1/
