# file: src/checkpoint/manifest.c
# what: the manifest is renamed before it is on the disk
# run: checkpoint --seed 2
s/if (rc == 0) rc = files->sync(fd);//
