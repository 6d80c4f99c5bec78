# file: src/protocol/replica.c
# what: an update of a recalled replica is lost that comes while its entry is written
/^static void take_values/,/^}/ s/else if (flags & WIRE_UPDATE || (flags & WIRE_VALUE && row_is_dirty(ref)))/else if (row_is_dirty(ref))/
