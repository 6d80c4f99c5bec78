# file: src/api/restore.c
# what: nodes that have nothing to tell speak over rank 0, which names the older checkpoint
# run: checkpoint --seed 15
/^static int look_for_whole/,/^}/ s/s->word.text\[0\] = '\\0';//
