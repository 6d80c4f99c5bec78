# file: src/protocol/location.c
# what: older knowledge of an owner replaces newer
# by: exhaustive
/^void location_learn/,/^}/ s/ || term <= known.term//
