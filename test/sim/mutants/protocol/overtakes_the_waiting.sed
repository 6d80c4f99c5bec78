# file: src/protocol/origin.c
# what: a request overtakes those that wait for the same key
/^bool origin_take_on/,/^}/ s/course = COURSE_WAIT;.*/(void)0;/
