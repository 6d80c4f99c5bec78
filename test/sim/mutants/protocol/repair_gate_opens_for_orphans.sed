# file: src/protocol/round.c
# what: the gate opens while replicas are orphans
# run: protocol --seed 1 --nodes 0 --script survive --technique adaptive --schedule 0
s/clocks_say(s, s->replicas->orphans == 0);/clocks_say(s, true);/
