#include "run.h"

#include "clock.h"
#include "machine.h"
#include "team.h"

#include "common/fail.h"

#include <math.h>

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
    r->report = options_report(&r->options);
    r->json = results_open(r->options.json);
}

void run_end(struct run *r)
{
    results_close(r->json);
    r->json = NULL;
}

struct spread run_spread(const struct run *r, const double *values)
{
    return spread_of(values, r->repetitions);
}

struct spread run_ratio(const struct run *r, const double *values, const double *floor)
{
    return spread_of_ratios(values, floor, r->repetitions);
}

void run_least(const struct run *r, double *best, const double *values)
{
    for (unsigned i = 0; i < r->repetitions; i++) best[i] = fmin(best[i], values[i]);
}

void run_most(const struct run *r, double *best, const double *values)
{
    for (unsigned i = 0; i < r->repetitions; i++) best[i] = fmax(best[i], values[i]);
}

void run_title(const struct run *r, const char *title)
{
    fprintf(r->report, "locus, %s\n\nmachine  %s; load %.1f\n", title, machine_name(),
            machine_load());
}

void run_end_title(const struct run *r, const char *if_quick)
{
    if (r->options.quick) fprintf(r->report, "quick    %s\n", if_quick);
    fputc('\n', r->report);
    fflush(r->report);
}

const char *run_verdict(const struct run *r, bool is_met)
{
    return r->options.quick ? "quick" : is_met ? "met" : "not met";
}

void run_show_load(const struct run *r)
{
    if (r->options.quick) return;
    fprintf(r->report,
            "\nload %.1f now, %u processors: what else runs here stretches all of these times.\n",
            machine_load(), team_processors());
}

void run_json(const struct run *r, const char *cell)
{
    results_begin(r->json, r->name, cell);
}
