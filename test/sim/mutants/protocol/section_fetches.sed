# file: src/api/access.c
# what: a row that leaves while it is pulled inside a read section is fetched
# run: protocol --seed 66 --nodes 0 --script views --technique relocate --schedule 0
/^static int check_section/,/^}/ s/MISSING_KEEP : MISSING_REFUSE/MISSING_KEEP : MISSING_ASK/
