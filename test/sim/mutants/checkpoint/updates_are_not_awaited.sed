# file: src/checkpoint/steps.c
# what: rows are written though updates are under way to the main copies
# run: checkpoint --seed 5
s/if (rc == 0 \&\& s->worker->node->moves) rc = call_flush(s->worker, REQUEST_FLUSH_UPDATES);//
