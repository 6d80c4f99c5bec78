# file: src/checkpoint/series.c
# what: a checkpoint that is removed has a manifest as long as it has files
/^void series_remove/,/^}/ { s/^    remove_in(path, MANIFEST_NAME);//; s/^    files()->sync_folder(path);// }
