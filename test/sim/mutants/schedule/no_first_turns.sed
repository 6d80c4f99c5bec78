# file: src/scheduling/candidates.c
# what: priorities count before each had its first turn
s/c->unseen = count;/c->unseen = 0;/
