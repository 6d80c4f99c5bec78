# file: src/protocol/location.c
# what: knowledge of the next term is not believed
/^void location_learn/,/^}/ s/term <= known.term/term <= known.term + 1/
