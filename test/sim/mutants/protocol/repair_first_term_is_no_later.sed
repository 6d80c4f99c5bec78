# file: src/protocol/repair.c
# what: rows begin anew in a term that may have been before
# run: protocol --seed 3 --nodes 0 --script survive --technique relocate --schedule 0
/^static void came_here/,/^}/ s/= loss_term(s->losses)/= 1/
