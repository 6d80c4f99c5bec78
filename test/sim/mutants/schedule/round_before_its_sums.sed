# file: src/scheduling/scheduler.c
# what: a round is written before its sums are cleared
# run: schedule --seed 3
s/int rc = locus_set(s->worker, others, 2, s->clear);/int rc = 0;/
s/s->counts\[s->given++ % s->mail.slots\] = (size_t)count;/rc = locus_set(s->worker, others, 2, s->clear); if (rc) return rc; &/
