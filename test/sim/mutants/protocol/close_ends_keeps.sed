# file: src/intents/intents.c
# what: what waits to be kept ends with its worker
# run: protocol --seed 190 --nodes 0 --script kept --technique adaptive --schedule 0
/^static void end_worker/,/^}/ s/if (b->end == LOCUS_FOREVER) add_batch/if (0) add_batch/
