# file: src/checkpoint/tensors.c
# what: the rows that a file got last are not in it
/^static int end_file/,/^}/ s/int rc = end_section(t);/int rc = 0;/
