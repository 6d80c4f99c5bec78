#include "report.h"

#include "machine.h"
#include "team.h"

void report_title(FILE *out, const char *title)
{
    fprintf(out, "locus, %s\n\nmachine  %s; load %.1f\n", title, machine_name(), machine_load());
}

const char *report_verdict(const struct options *o, bool is_met)
{
    return o->quick ? "quick" : is_met ? "met" : "not met";
}

void report_load(FILE *out, const struct options *o)
{
    if (o->quick) return;
    fprintf(out,
            "\nload %.1f now, %u processors: what else runs here stretches all of these times.\n",
            machine_load(), team_processors());
}
