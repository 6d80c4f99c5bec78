# file: src/protocol/saves.c
# what: what was given to a lost node counts for who joins there
# run: protocol --seed 2 --nodes 0 --script join --technique relocate --schedule 0
/^void saves_repair(/,/^}/ s/if (is_lost) forget_peer(p);//
