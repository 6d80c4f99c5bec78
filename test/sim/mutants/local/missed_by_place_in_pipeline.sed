# file: src/store/row.c
# what: a batch names the wrong keys as missed
s/(struct missed_row){i - AHEAD, offset}/(struct missed_row){i, offset}/
