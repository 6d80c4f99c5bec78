# file: src/scheduling/mail.c
# what: all parts are the first worker's
s/at\[2\] = (float)parts->worker;/at[2] = 0;/
