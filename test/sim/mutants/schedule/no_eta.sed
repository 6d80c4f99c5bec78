# file: src/scheduling/candidates.c
# what: what did not change has no weight
s/change \* change + c->config->eta/change * change/
