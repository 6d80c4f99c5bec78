# file: src/protocol/saves.c
# what: rows are not saved where a node that joins is their guardian
# run: protocol --seed 7 --nodes 0 --script join --technique relocate --schedule 0
/^void saves_claimed(/,/^}/ s/if (guardian/if (!loss_is_join(s->losses) \&\& guardian/
