# file: src/store/rows.c
# what: a batch names the wrong keys as missed
# run: local_fibers --seed 1
s/(struct missed_row){i, offset}/(struct missed_row){i > 0 ? i - 1 : 0, offset}/
