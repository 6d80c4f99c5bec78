# file: src/scheduling/candidates.c
# what: what never changes comes by its eta alone
# run: schedule --seed 9
s/c->unseen || c->given % CANDIDATES_TURN == 0/c->unseen/
