# file: src/scheduling/weights.c
# what: the total is not mended
s/for (node \/= 2; node > 0;/for (node \/= 2; node > 1;/
