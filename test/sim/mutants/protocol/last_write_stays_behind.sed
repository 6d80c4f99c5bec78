# file: src/store/row.c
# what: what a worker writes to a row is lost when it leaves without its values at the same moment
# run: protocol --seed 3307 --nodes 0 --script relay --technique adaptive --schedule 0
/^bool row_take_unchanged/,/^}/ s/if (!try_move(.*$/LOCUS_YIELD(); LOCUS_YIELD(); publish_moved(s, next);/
