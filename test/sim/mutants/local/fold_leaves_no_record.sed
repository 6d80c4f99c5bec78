# file: src/store/optimizer.c
# what: the record of a replica lacks the steps of workers with copies
# run: copies --seed 12
s/^ *if (record) o->type->merge(.*//
