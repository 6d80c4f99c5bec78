# file: src/store/row_replica.c
# what: who looks for rows that are here is not told that a replica has ended
# run: protocol --seed 2 --nodes 0 --script intents --technique adaptive --schedule 0
/^uint32_t row_forget(/,/^}/s/row_ref_moved(s);//
