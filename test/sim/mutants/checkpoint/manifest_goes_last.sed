# file: src/checkpoint/series.c
# what: a checkpoint that is removed has a manifest as long as it has files
# run: checkpoint --seed 55
/^static void remove_own/,/^}/ { s/int rc = files->rename(folder, MANIFEST_NAME, UNFINISHED);/int rc = 0;/; s/if (rc == 0) rc = files->sync(folder);// }
