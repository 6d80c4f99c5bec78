# file: src/protocol/owner.c
# what: a row is given away, and the receiver is not told which writes of others it has
# run: protocol --seed 167 --nodes 0 --script survive --technique relocate --schedule 0
/^static void give(/,/^}/ s/once_tell(s, request->origin);//
