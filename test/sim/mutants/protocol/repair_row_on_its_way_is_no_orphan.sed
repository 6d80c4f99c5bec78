# file: src/protocol/repair.c
# what: a replica whose row was lost on its way to it is not offered
# run: protocol --seed 10105 --nodes 0 --script survive --technique adaptive --schedule 0
/^static bool may_be_orphan/,/^}/ s/ || owner == s->rank//
