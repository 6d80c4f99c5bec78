# file: src/store/optimizer.c
# what: the delta of a replica lacks the steps of workers with copies
# run: copies --seed 22
s/^ *if (delta) o->type->merge(.*//
