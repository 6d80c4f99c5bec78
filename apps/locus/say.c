#include "say.h"

#include "plain.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_BYTES = 2048 };

static const char *name = "locus run";

void say_as(const char *command)
{
    name = command;
}

static void say_list(const char *format, va_list arguments)
{
    char text[LINE_BYTES], shown[2 * LINE_BYTES];
    vsnprintf(text, sizeof text, format, arguments);
    plain_copy(shown, sizeof shown, text);
    fprintf(stderr, "%s: %s\n", name, shown);
}

void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_list(format, arguments);
    va_end(arguments);
}

int say_and(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_list(format, arguments);
    va_end(arguments);
    return status;
}
