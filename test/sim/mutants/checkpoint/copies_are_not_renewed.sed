# file: src/checkpoint/restore.c
# what: replicas keep what they had
# run: checkpoint --seed 2
s/stages_meet(s, COLLECTIVE_END, call_flush(s->worker, REQUEST_FLUSH_REPLICAS));/stages_meet(s, COLLECTIVE_END, 0);/
