# file: src/protocol/origin.c
# what: a request is served here although earlier ones are under way elsewhere
# by: exhaustive
/^static enum course course_of/,/^}/ s/if (record && record->asked) return COURSE_WAIT;/(void)0;/
