# file: src/store/copies.c
# what: who ends copies takes those of the first worker alone
# run: copies --seeds 6000
/^static void end(/,/^}/s/i < all->workers/i < 1/
