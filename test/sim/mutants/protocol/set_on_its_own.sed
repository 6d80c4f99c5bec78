# file: src/protocol/origin.c
# what: a replica is set by a request of its own
# by: exhaustive
/^static enum course course_of/,/^}/ s/? COURSE_SET : COURSE_HERE/? COURSE_SEND : COURSE_HERE/
