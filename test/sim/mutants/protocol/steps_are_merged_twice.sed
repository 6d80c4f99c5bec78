# file: src/store/optimizer.c
# what: the owner takes the steps of a record twice
s/case ROW_MERGE: \(.*\) break;/case ROW_MERGE: \1 \1 break;/
