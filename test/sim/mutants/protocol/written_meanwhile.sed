# file: src/protocol/owner.c
# what: what a worker of the owner writes while a replica's update is merged counts as known to the replica
# run: protocol --seed 443 --nodes 0 --script shared --technique full_replication --schedule 0
/^static bool is_still_fresh/,/^}/ s/return directory_version(\*w) == directory_version(expected);/return (void)expected, true;/
