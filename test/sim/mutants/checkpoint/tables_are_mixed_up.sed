# file: src/checkpoint/restore.c
# what: rows of the second table are set as those of the first
s/struct target t = {r, k->table\[r->table_of\[s->table\]\].first};/struct target t = {r, k->table[0].first};/
