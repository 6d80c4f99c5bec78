# file: src/protocol/saves.c
# what: the home does not get what a giver has kept for the lost node
# run: protocol --seed 3 --nodes 0 --script survive --technique adaptive --schedule 0
/^void saves_repair(/,/^}/ s/hand_over(s, &p->given\[p->first++\])/p->first++/
