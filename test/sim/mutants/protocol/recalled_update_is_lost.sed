# file: src/protocol/replica.c
# what: an update of a recalled replica is lost that comes while its entry is written
# run: protocol --seed 40 --nodes 0 --script kept --technique adaptive --schedule 0
/^static uint32_t take_updates/,/^}/ s/else if (\*flags & WIRE_UPDATE || .*/else if (row_is_dirty(ref))/
