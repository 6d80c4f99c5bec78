# file: src/protocol/origin.c
# what: a replica is set by a request of its own
# run: exhaustive --scenario "adaptive 0:begin 1:begin,push,set"
/^static enum course course_of/,/^}/ s/? COURSE_SET : COURSE_HERE/? COURSE_SEND : COURSE_HERE/
