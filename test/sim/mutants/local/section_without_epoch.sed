# file: src/store/store.h
# what: a section is not known to the term
# run: local_fibers --seed 8
s/ck_epoch_begin(&r->record, NULL)/(void)0/
s/ck_epoch_end(&r->record, NULL)/(void)0/
