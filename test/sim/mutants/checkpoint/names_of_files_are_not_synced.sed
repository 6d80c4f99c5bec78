# file: src/checkpoint/save.c
# what: the names of files may be gone when the manifest is there
# run: checkpoint --seed 64
/^static int write_part/,/^}/ s/if (rc == 0) rc = series_sync(s->path);//
