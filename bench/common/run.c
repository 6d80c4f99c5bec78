#include "run.h"

#include "clock.h"
#include "machine.h"
#include "team.h"

#include "common/fail.h"

static const struct json_style style = {"benchmark", ", ", ": ", 6};

void run_parse(struct run *r, const struct program *p, int argc, char **argv)
{
    fail_set_program(p->name);
    r->name = p->name;
    options_parse(&r->options, p, argc, argv);
}

void run_repeat(struct run *r, struct run_repetitions repetitions)
{
    const struct options *o = &r->options;
    unsigned demo = repetitions.demo ? repetitions.demo : repetitions.full;
    r->repetitions = o->repetitions ? o->repetitions
                     : o->quick     ? repetitions.quick
                     : o->demo      ? demo
                                    : repetitions.full;
}

void run_begin(struct run *r, bool selects_any)
{
    if (!selects_any) options_refuse_selection(&r->options);
    r->clock_cost = clock_cost_ns();
    json_begin_in(&r->json, &style, stdout, r->name);
    json_text(&r->json, "machine", machine_name());
    json_count(&r->json, "processors", team_processors());
    json_number(&r->json, "load", machine_load());
    json_count(&r->json, "quick", r->options.quick);
    json_count(&r->json, "repetitions", r->repetitions);
    json_count(&r->json, "clock_ns", r->clock_cost);
    json_end(&r->json);
}

void run_end(struct run *r)
{
    json_begin_in(&r->json, &style, stdout, r->name);
    json_number(&r->json, "load_after", machine_load());
    json_end(&r->json);
}

void run_cell(struct run *r, const char *cell)
{
    json_begin_in(&r->json, &style, stdout, r->name);
    json_text(&r->json, "cell", cell);
}

void run_values(struct run *r, const char *name, const double *values)
{
    json_numbers(&r->json, name, values, r->repetitions);
}
