# file: src/checkpoint/restore.c
# what: files that were verified are not read
/^static int rewind_files/,/^}/ s/if (r->steps.is_first) r->steps.share->next_file = 0;//
