# file: src/actors/rounds.c
# what: quiesce does not wait for updates under way
/^static bool is_settled/,/^}/ s/return s->rounds.awaited == 0 && /return /
