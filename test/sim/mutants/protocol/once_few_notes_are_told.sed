# file: src/protocol/once.c
# what: only the last note of each origin is told
# run: protocol --seed 1885 --nodes 0 --script survive --technique relocate --schedule 0
/^static void say(/,/^}/ {
  s/n->count > ONCE_WRITES_MAX \&\& from < n->count - ONCE_WRITES_MAX/n->count > 1 \&\& from < n->count - 1/
  s/from = n->count - ONCE_WRITES_MAX;/from = n->count - 1;/
}
