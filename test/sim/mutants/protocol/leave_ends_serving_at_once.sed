# file: src/protocol/loss.c
# what: who leaves serves nobody any more when it hears of it
# run: protocol --seed 25 --nodes 0 --script survive --technique adaptive --schedule 0
/^void loss_serves_on(/,/^}/ s/if (!have_members_said(s, s->losses->leaves, 1)) return;//
