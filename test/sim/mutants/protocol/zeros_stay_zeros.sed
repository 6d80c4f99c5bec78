# file: src/protocol/owner.c
# what: a holder is told that the row was never written although it was
# run: protocol --seed 2 --nodes 0 --script intents --technique adaptive --schedule 0
/^static bool say_zeros/,/^}/ s/if (row_word_is_written(ref, w)) return false;/(void)0;/
