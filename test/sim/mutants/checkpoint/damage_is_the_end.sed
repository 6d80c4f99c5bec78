# file: src/api/restore.c
# what: a damaged checkpoint hides the older ones
/^static int look_for_whole/,/^}/ s/while (rc == -EBADMSG/while (false/
