# file: src/protocol/replica.c
# what: the owner does not hear that the last intent has ended
# run: exhaustive --scenario "adaptive 0:begin 1:begin,push,end"
/^static uint8_t sync_flags/,/^}/ s/flags |= WIRE_END;/flags |= 0;/
