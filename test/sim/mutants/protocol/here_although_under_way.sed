# file: src/protocol/origin.c
# what: a request is served here although earlier ones are under way elsewhere
# run: exhaustive --scenario "1:push*,pull 1:localize 2:localize 0:localize"
/^static enum course course_of/,/^}/ s/if (record && record->asked) return COURSE_WAIT;/(void)0;/
