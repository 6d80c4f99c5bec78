# file: src/scheduling/schedule.c
# what: new candidates are tried before those that were refused
# run: schedule --seed 2
s/^    try_waiting(s, m);$/    int rc = try_candidates(s, m); if (rc) return rc; try_waiting(s, m); return 0;/
