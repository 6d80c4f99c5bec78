# file: src/protocol/handover.c
# what: a row that moves loses its values
/^static int put_row(/,/^}/ s/e->length ? wire_values_const(e) : NULL/NULL/
