# file: src/protocol/replica.c
# what: a write counts as seen in a replica that the next owner does not know
# run: protocol --seed 3965 --nodes 0 --script survive --technique adaptive --schedule 0
/^void replica_consider(/,/^}/ s/!r->is_orphan \&\& //
