# file: src/scheduling/schedule.c
# what: a candidate that the filter refuses is forgotten until its next turn
# run: schedule --seed 2
s/if (!try(s, m, local)) s->waiting\[s->waiting_count++\] = local;/if (!try(s, m, local)) set_free(s, local);/
