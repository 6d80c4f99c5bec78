# file: src/protocol/repair.c
# what: who leaves does not save what has changed
# run: protocol --seed 25 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void leave(/,/^}/ s/if (!saves_all(s)) return;//
