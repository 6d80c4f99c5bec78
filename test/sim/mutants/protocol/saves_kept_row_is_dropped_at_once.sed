# file: src/protocol/saves.c
# what: who gives a row away keeps nothing
# run: protocol --seed 77 --nodes 0 --script survive --technique adaptive --schedule 0
/^void saves_keep/,/^}/ s/put(s, ref, term, 0, s->mover.kept)/mover_free(\&s->mover, ref.partition, s->mover.kept)/
