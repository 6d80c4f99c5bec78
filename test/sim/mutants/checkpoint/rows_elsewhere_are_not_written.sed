# file: src/checkpoint/stages.c
# what: a row that is not at its home is in no checkpoint
# run: checkpoint --seed 2
s/if (state == DIRECTORY_ELSEWHERE) return pull_later(walk, key);/if (state == DIRECTORY_ELSEWHERE) return 0;/
