# file: src/store/optimizer.c
# what: the record of a replica lacks the steps of workers with copies
# run: copies --seed 22
s/^ *if (record) o->type->merge(.*//
