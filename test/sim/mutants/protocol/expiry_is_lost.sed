# file: src/protocol/replica.c
# what: the owner does not hear that the last intent has ended
# by: exhaustive
/^static uint8_t sync_flags/,/^}/ s/flags |= WIRE_END;/flags |= 0;/
