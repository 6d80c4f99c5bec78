# file: src/scheduling/candidates.c
# what: a variable whose round is done is none any more
s/c->busy\[variable \/ BITS\] &= .*/(void)0;/
