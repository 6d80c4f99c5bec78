# file: src/store/row.c
# what: what a worker writes to a row is lost when it leaves without its values at the same moment
# run: protocol --seed 99 --nodes 0 --script relay --technique adaptive --schedule 0
/^bool row_take_unchanged/,/^}/ { /__atomic_compare_exchange_n/N; s/if (!__atomic_compare_exchange_n.*$/(void)w; LOCUS_YIELD(); LOCUS_YIELD(); directory_publish(row_ref_word(s), next); if (0)/ }
