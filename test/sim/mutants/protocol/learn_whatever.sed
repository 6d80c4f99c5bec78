# file: src/protocol/shard.c
# what: older knowledge of an owner replaces newer
# run: exhaustive --scenario "0:localize 1:localize 2:localize"
/^void location_learn/,/^}/ s/ || term <= known.term//
