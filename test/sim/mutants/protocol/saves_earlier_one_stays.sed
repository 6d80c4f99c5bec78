# file: src/protocol/saves.c
# what: of two saves of a row the earlier one stays
# run: protocol --seed 2 --nodes 0 --script survive --technique adaptive --schedule 0
/^const char \*saves_take/,/^}/ { s/e->term > c->term/e->term < c->term/; s/e->version > c->version/e->version < c->version/ }
