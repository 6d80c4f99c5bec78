# file: src/store/store.h
# what: a row never touched counts as here wherever its home is
s/s.part->is_full || spot_is_home(s)/true/
s/if (state == DIRECTORY_UNTOUCHED) return spot_is_home(s);//
