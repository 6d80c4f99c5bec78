# file: src/protocol/round.c
# what: quiesce does not wait for the acknowledgement of refreshes
# run: protocol --seed 71 --nodes 0 --script phases --technique full_replication --schedule 0
/^static bool is_flushed/,/^}/ { /owes ||$/N; s/ ||\n *(b->is_under_way .*refreshes)// }
