# file: src/store/optimizer.c
# what: the record of a replica lacks the steps of workers with copies
# run: copies --seed 10
s/^ *if (record) merge_records(.*//
