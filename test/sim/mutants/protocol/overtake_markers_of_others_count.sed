# file: src/protocol/loss.c
# what: who has begun the next change counts as through with this one
# run: exhaustive --scenario "join=0,0 1:localize"
/^static bool have_members_said(/,/^}/ s/ || number_of(said) != number//
