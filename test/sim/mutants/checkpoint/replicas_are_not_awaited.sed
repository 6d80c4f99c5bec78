# file: src/checkpoint/stages.c
# what: rows are copied from replicas that do not have all updates yet
# run: checkpoint --seed 2
s/if (rc == 0) rc = call_flush(w, REQUEST_FLUSH_REPLICAS);//
