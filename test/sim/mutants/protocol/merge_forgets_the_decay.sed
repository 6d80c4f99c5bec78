# file: src/store/row_steps.c
# what: what takes the steps of a delta keeps its state whole
# run: protocol --seed 13 --nodes 0 --script bounds --technique adaptive --schedule 0
/^INLINE void carry/,/^}/ s/(float)power(part, count)/1/
