# file: src/protocol/saves.c
# what: a row that has come is saved when it changes
# run: protocol --seed 1 --nodes 0 --script survive --schedule 0
/^void saves_came/,/^}/ s/bitset_add(&s->saves->unsaved, ref.index)/(void)0/
