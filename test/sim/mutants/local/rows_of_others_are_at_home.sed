# file: src/store/store.h
# what: a row never touched counts as here wherever its home is
# run: local_fibers --seed 1
s/s.partition->is_full || row_ref_is_home(s)/true/
s/if (state == DIRECTORY_UNTOUCHED) return row_ref_is_home(s);//
