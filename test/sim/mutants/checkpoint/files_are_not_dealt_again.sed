# file: src/checkpoint/restore.c
# what: of the older checkpoint the files are not verified that the damaged one had
# run: checkpoint --seed 2
/^static int find_whole/,/^}/ s/if (s->is_first) stages_renew_work(s->work);//
