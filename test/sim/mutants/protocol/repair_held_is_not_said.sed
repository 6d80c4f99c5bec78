# file: src/protocol/repair.c
# what: who asked what is parked at a node that lives asks it again
# run: protocol --seed 1 --nodes 0 --script survive --technique relocate --schedule 0
/^static void say_held/,/^}/ s/p = r->parked;/p = NULL;/
