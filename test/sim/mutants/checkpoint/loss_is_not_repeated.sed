# file: src/worker/call.c
# what: a flush before the repair counts behind it
# run: checkpoint --seed 46
/^int call_repeats/,/^}/ s/bool was_lost = .*/bool was_lost = w == NULL \&\& repaired;/
