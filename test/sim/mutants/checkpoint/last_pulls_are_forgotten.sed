# file: src/checkpoint/home_rows.c
# what: what is left to pull at the end of a slice is not
/^static int walk_slice/,/^}/ s/return rc ? rc : pull(walk);/return rc;/
