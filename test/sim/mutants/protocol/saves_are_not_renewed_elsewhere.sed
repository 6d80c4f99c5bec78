# file: src/protocol/saves.c
# what: what the lost node had saved of others is saved nowhere
# run: protocol --seed 1 --nodes 0 --script survive --technique adaptive --schedule 0
/^void saves_claimed/,/^}/ s/if (guardian/if (loss_is_join(s->losses) \&\& guardian/
