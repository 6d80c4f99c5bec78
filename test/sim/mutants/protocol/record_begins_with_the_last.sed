# file: src/store/optimizer.c
# what: the record of a replica begins with steps that the owner has
s/if (record && is_first)/if (false)/
