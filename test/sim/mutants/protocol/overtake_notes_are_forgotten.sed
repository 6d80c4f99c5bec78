# file: src/protocol/once.c
# what: what was noted of a node is told only if it changed last
# run: protocol --seed 1290 --nodes 0 --script survive --technique adaptive --schedule 0
/^void once_tell_origins(/,/^}/ s/l->undecided\[i\]/l->change.node/
