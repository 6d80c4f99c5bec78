# file: src/checkpoint/restore.c
# what: files that the lost node wrote are dealt to it
# run: checkpoint --seed 2
/^static unsigned reader_of/,/^}/ s/while (n->cluster .*)) rank/while (size == 0) rank/
