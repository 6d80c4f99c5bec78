# file: src/protocol/saves.c
# what: a row that has come leaves its save here
# run: protocol --seed 1 --nodes 0 --script survive --technique adaptive --schedule 0
/^void saves_came/,/^}/ s/drop(s, ref)/(void)0/
