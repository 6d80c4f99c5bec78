# file: src/store/optimizer.c
# what: a delta of values of 16 bits begins with the values before the last change instead of the first
# run: protocol --seed 4 --nodes 0 --script shared --technique adaptive --schedule 0
/^static void change_halves/,/^}/ { s/if (unsent && is_first) {/if (unsent) {/; s/^        floats_zero(unsent + words/        if (is_first) floats_zero(unsent + words/ }
