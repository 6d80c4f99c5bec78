# file: src/checkpoint/restore.c
# what: of the older checkpoint the files are not verified that the damaged one had
# run: checkpoint --seed 3
/^static int look_for_whole/,/^}/ s/if (s->is_first) share_begin(s->share);//
