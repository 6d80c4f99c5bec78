# file: src/scheduling/weights.c
# what: what is left of a branch is not taken off
s/rest -= w->sum\[node\];//
