# file: src/checkpoint/files.c
# what: files may be gone when the manifest is there
# run: checkpoint --seed 2
s/if (rc == 0) rc = files->sync(b->fd);//
