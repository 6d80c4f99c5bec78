# file: src/protocol/origin.c
# what: a note counts although its answer has come, and its tag is another request's
# run: protocol --seed 11 --nodes 0 --script survive --technique relocate --schedule 0
/^const char \*origin_told(/,/^}/ s/= s->once->answers\[e->owner\];/= 0;/
