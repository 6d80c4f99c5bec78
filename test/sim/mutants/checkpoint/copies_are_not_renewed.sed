# file: src/checkpoint/restore.c
# what: replicas keep what they had
# run: checkpoint --seed 2
s/steps_meet(s, COLLECTIVE_END, call_flush(s->worker, REQUEST_FLUSH_REPLICAS));/steps_meet(s, COLLECTIVE_END, 0);/
