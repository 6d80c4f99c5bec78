# file: src/checkpoint/restore.c
# what: rows that were not written then stay
# run: checkpoint --seed 1
/^static int zero_rows/,/^}/ s/while (rc == 0 \&\& stages_deal/while (rc < 0 \&\& stages_deal/
