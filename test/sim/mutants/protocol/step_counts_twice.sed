# file: src/store/row_steps.c
# what: the delta of a step with a momentum counts two
# run: protocol --seed 13 --nodes 0 --script bounds --technique adaptive --schedule 0
/^INLINE void momentum_step/,/^}/ s/d\[2 \* n\]++/d[2 * n] += 2/
