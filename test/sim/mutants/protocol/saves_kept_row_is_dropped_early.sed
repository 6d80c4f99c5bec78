# file: src/protocol/saves.c
# what: a giver hears of rows that came during the sweep that they are saved
# run: protocol --seed 772 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void end(/,/^}/ s/v->peer\[n\].before/v->peer[n].received/g
