# file: src/checkpoint/series.c
# what: the oldest checkpoint is taken for the newest
s/return (x < y) - (x > y);/return (x > y) - (x < y);/
