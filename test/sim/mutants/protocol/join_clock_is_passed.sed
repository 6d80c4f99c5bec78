# file: src/protocol/clocks.c
# what: nobody waits for the updates of who has joined
# run: protocol --seed 24 --nodes 0 --script join --technique adaptive --schedule 0
/^void clocks_change(/,/^}/ s/joins ? 0 : INT64_MAX/joins ? INT64_MAX - 1 : INT64_MAX/
