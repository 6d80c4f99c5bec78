# file: src/checkpoint/save.c
# what: the part of the lost node is missed in the manifest
# run: checkpoint --seed 19
/^static int read_parts/,/^}/ s/if (n->cluster .*)) continue;/if (n->size == 0) continue;/
