# file: src/store/row_steps.c
# what: the record of several steps travels as the gradient of one
# run: protocol --seed 7 --nodes 0 --script bounds --technique adaptive --schedule 0
/^INLINE bool adagrad_gradient/,/^}/ s/if (differ) return false;//
