# file: src/protocol/repair.c
# what: a lost row begins with zeros though there is a save
# run: protocol --seed 12 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void begin_row/,/^}/ s/values = saves_row(s, ref)/values = s ? NULL : saves_row(s, ref)/
