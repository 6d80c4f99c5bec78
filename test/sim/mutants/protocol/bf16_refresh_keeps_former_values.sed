# file: src/store/optimizer.c
# what: after a refresh of values of 16 bits the delta still begins with those from before
# run: protocol --seed 4 --nodes 0 --script shared --technique adaptive --schedule 0
/^static void refresh_halves/,/^}/ s/^    floats_copy(unsent, values, .*);//
