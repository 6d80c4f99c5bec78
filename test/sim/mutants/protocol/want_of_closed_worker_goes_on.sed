# file: src/intents/intents.c
# what: what a worker has raised goes on when it has closed
# run: protocol --seed 2 --nodes 0 --script early --technique adaptive --schedule 0
/^static void end_opening/,/^}/ s/s->has_ended = true;/s->has_ended = false;/
