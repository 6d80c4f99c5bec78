# file: src/protocol/repair.c
# what: what nobody has written stays where its home was
# run: protocol --seed 35 --nodes 0 --script join --technique adaptive --schedule 0
/^static bool claim(/,/^}/ s/if (is_untouched \&\& give_up(s, ref)) return false;//
