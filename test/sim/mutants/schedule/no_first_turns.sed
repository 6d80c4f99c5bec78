# file: src/scheduling/candidates.c
# what: priorities count before each had its first turn
# run: schedule --seed 1
s/c->unseen = count;/c->unseen = 0;/
