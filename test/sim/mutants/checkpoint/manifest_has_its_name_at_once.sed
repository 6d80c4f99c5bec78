# file: src/checkpoint/series.c
# what: the manifest is written under its own name
# run: checkpoint --seed 602
/^int series_commit/,/^}/ { s/series_path(unfinished, path, UNFINISHED)/series_path(unfinished, path, MANIFEST_NAME)/; s/files->rename(folder, UNFINISHED, MANIFEST_NAME)/0/ }
