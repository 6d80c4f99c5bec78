# file: src/store/copies.c
# what: who ends copies takes those of the first worker alone
# run: copies --seed 1
/^static void end(/,/^}/s/i < all->workers/i < 1/
