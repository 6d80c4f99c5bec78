# file: src/protocol/repair.c
# what: a request that was lost is not asked again
# run: protocol --seed 2 --nodes 0 --script survive --technique relocate --schedule 0
/^static void decide(/,/^}/ s/origin_ask_again(s);//
