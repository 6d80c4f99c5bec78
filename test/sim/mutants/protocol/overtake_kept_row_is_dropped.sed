# file: src/protocol/saves.c
# what: who gives what it kept to a home keeps it no more
# run: protocol --seed 3029 --nodes 0 --script join --technique adaptive --schedule 0
/^static void hand_over(/,/^}/ s/s->saves->of\[ref.index\].is_stray = true;/drop(s, ref);/
