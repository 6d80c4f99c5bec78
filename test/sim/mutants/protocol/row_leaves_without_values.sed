# file: src/protocol/dispatch.c
# what: a row that moves loses its values
# run: protocol --seed 1 --nodes 0 --script phases --technique adaptive --schedule 0
/^static int put_row(/,/^}/ s/e->length ? wire_values_const(e) : NULL/NULL/
