# file: src/checkpoint/series.c
# what: the manifest is written under its own name
s/rc = manifest_write(m, unfinished);/rc = manifest_write(m, finished);/; s/if (rc == 0) rc = judged(files()->rename(unfinished, finished), "rename", unfinished);//
