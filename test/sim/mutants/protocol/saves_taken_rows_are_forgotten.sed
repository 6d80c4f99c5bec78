# file: src/protocol/saves.c
# what: a loss forgets which rows a sweep has still to say
# run: protocol --seed 1072 --nodes 0 --script survive --technique adaptive --schedule 0
/^void saves_repair(/,/^}/ s/bitset_add(&v->unsaved, i)/(void)0/
