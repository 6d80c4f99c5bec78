# file: src/protocol/handover.c
# what: what was parked and is served stays counted as parked
/^static void serve_parked/,/^}/ s/s->parked_bytes -= .*/(void)0;/
