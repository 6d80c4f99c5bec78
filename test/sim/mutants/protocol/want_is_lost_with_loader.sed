# file: src/intents/intents.c
# what: what a loader has raised ends with the loader
# run: protocol --seed 1 --nodes 0 --script early --technique adaptive --schedule 0
/^static void free_stream/,/^}/ s/^ *stream_raised(.*;$//
