# file: src/store/row_steps.c
# what: a delta that takes the steps of another does not count them
# run: protocol --seed 268 --nodes 0 --script intents --technique replicate --schedule 0
/^INLINE void merge/,/^}/ s/if (both && t->counts)/if (!to)/
