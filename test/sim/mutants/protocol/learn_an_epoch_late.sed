# file: src/protocol/location.c
# what: knowledge of the next epoch is not believed
/^void location_learn/,/^}/ s/epoch <= known.epoch/epoch <= known.epoch + 1/
