# file: src/protocol/owner.c
# what: a holder of a replica is not told which writes of others it has
# run: protocol --seed 106 --nodes 0 --script survive --technique replicate --schedule 0
/^static void say_row(/,/^}/ s/once_tell(s, h->node);//
