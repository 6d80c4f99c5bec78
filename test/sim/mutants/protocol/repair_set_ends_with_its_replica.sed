# file: src/protocol/replica.c
# what: a replica ends with a set, which is lost if the owner is
# run: protocol --seed 4778 --nodes 0 --script survive --technique adaptive --schedule 0
/^static uint8_t sync_flags(/,/^}/ s/s->losses ? WIRE_VALUE : flags/flags/
