# file: src/api/access.c
# what: a row that leaves while it is pulled inside a read section is fetched
# run: --script views --technique relocate
/^static int check_section/,/^}/ s/MISSING_KEEP : MISSING_REFUSE/MISSING_KEEP : MISSING_ASK/
