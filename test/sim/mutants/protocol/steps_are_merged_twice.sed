# file: src/store/optimizer.c
# what: the owner takes the steps of a delta twice
# run: protocol --seed 13 --nodes 0 --script bounds --technique adaptive --schedule 0
s/^ *o->type->merge(o->type, &o->rule, row, values, n, false);/& &/
