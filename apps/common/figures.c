#include "figures.h"

#include "json.h"
#include "run_log.h"

#include <math.h>
#include <stdio.h>

static void say_to_people(const struct figure *f)
{
    const char *unit = f->unit ? f->unit : "";
    if (isnan(f->value))
        printf("   %s-", f->label);
    else if (f->digits < 0)
        printf("   %s%.*g%s", f->label, -f->digits, f->value, unit);
    else
        printf("   %s%*.*f%s", f->label, f->width, f->digits, f->value, unit);
}

static void say_in_json(const char *event, const struct figure *figures, size_t count)
{
    struct json j;
    json_begin(&j, event);
    for (const struct figure *f = figures; f < figures + count; f++) {
        if (f->name && f->text) json_text(&j, f->name, f->text);
        if (f->name && !f->text) json_number(&j, f->name, f->value);
    }
    json_end(&j);
}

void figures_say(bool json, const char *event, const char *head, const struct figure *figures,
                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (figures[i].curve) run_log_point(figures[i].curve, figures[i].value);
    if (json) {
        say_in_json(event, figures, count);
        return;
    }
    fputs(head, stdout);
    for (size_t i = 0; i < count; i++)
        if (figures[i].label) say_to_people(&figures[i]);
    putchar('\n');
    fflush(stdout);
}
