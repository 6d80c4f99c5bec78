# file: src/protocol/saves.c
# what: who was the guardian before a node joined keeps its saves
# run: protocol --seed 7 --nodes 0 --script join --technique relocate --schedule 0
/^static void end(/,/^}/ s/drop_strays(s);/(void)s;/
