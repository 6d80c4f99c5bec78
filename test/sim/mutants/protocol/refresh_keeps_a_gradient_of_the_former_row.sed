# file: src/store/optimizer.c
# what: after a refresh the delta of a step is that of a row that is no more
# run: protocol --seed 118 --nodes 0 --script bounds --technique adaptive --schedule 0
/^static void refresh_floats/,/^}/ s/is_gradient(o, unsent) ? unsent : NULL/NULL/
