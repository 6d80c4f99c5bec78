#include "format.h"

#include "fail.h"

#include <stdio.h>
#include <string.h>

const char *const format_names[FORMATS] = {"auto", "csv",  "libsvm",  "criteo",
                                           "text", "ldac", "docword", "matrix"};

struct args_option format_offer(struct format_option *f, unsigned formats)
{
    snprintf(f->help, sizeof f->help, "of the data: auto");
    for (unsigned i = 0; i < FORMATS; i++) {
        f->names[i] = i == FORMAT_AUTO || formats >> i & 1 ? format_names[i] : "";
        size_t used = strlen(f->help);
        if (i > 0 && *f->names[i])
            snprintf(f->help + used, sizeof f->help - used, ", %s", f->names[i]);
    }
    return (struct args_option)OPTION_CHOICE("--format", "NAME", &f->is, f->names, 0, f->help);
}

void format_check(const struct format_option *f, const char *path, enum format found)
{
    if (f->is != FORMAT_AUTO && f->is != (int)found)
        fail("%s is %s, not %s: leave --format away, or give another file", path,
             format_names[found], format_names[f->is]);
}
