# file: src/checkpoint/blocks.c
# what: files may be gone when the manifest is there
s/if (rc == 0) rc = files()->sync(b->fd);//
