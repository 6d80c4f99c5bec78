# file: src/protocol/owner.c
# what: the receiver of a row is told behind it which writes of others it has
# run: protocol --seed 1229 --nodes 0 --script survive --technique relocate --schedule 0
/^static void give(/,/^}/ {
  s/once_tell(s, request->origin);//
  s/^\( *\)announce(s, ref, request);/\1once_tell(s, request->origin);\n&/
}
