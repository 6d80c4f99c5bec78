# file: src/protocol/origin.c
# what: a row that is set by another node gets a state of what lay there
/^static void copy_row/,/^}/ s/memset(.*);/memset(to + given, 1, (p->stored - given) * sizeof *to);/
