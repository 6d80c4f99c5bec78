# file: src/protocol/saves.c
# what: a loss is repaired before the rows have saves again
# run: protocol --seed 29 --nodes 0 --script survive --technique adaptive --schedule 0
/^void saves_repaired/,/^}/ s/if (l->members == 1) //
