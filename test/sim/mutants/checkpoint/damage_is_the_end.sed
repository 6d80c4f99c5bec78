# file: src/checkpoint/restore.c
# what: a damaged checkpoint hides the older ones
# run: checkpoint --seed 5
/^static int find_whole/,/^}/ s/while (rc == -EBADMSG/while (false/
