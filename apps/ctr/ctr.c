#include "ctr.h"

#include "clicks_read.h"
#include "fail.h"

#include <stdlib.h>

/* "64,32" */
static void plan_layers(struct ctr *c)
{
    const char *at = c->options.hidden;
    size_t inputs = c->fields * c->options.dim;
    for (int count = 0;; count++) {
        char *end;
        unsigned long units = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
        if (units < 1 || units > 4096 || (*end && *end != ',') || count == CTR_HIDDEN_MAX)
            fail_usage("--hidden takes 1 to %d numbers from 1 to 4096, as 64,32, not \"%s\"",
                       CTR_HIDDEN_MAX, c->options.hidden);
        dense_plan_add(&c->plan, inputs, units, true);
        inputs = units;
        if (!*end) break;
        at = end + 1;
    }
    dense_plan_add(&c->plan, inputs, 1, false);
}

static void read_files(struct ctr *c)
{
    const struct ctr_options *o = &c->options;
    const struct clicks_source source = {.train = o->common.data,
                                         .test = o->test,
                                         .format = (enum clicks_format)o->format,
                                         .label = o->label,
                                         .positive = o->positive,
                                         .hash_bits = (unsigned)o->hash_bits,
                                         .bins = (unsigned)o->bins};
    uint64_t train = clicks_read(&c->clicks, &source);
    const struct clicks_split split = {.train = train,
                                       .test = o->test ? 0 : o->held_back,
                                       .validate = o->validate,
                                       .seed = o->common.seed};
    clicks_finish(&c->clicks, &split);
    c->train = c->clicks.train;
    c->test = c->clicks.test;
    c->validate = c->clicks.validate;
    c->features = c->clicks.feature_count;
    c->fields = c->clicks.field_count;
}

static void plant(struct ctr *c)
{
    const struct ctr_options *o = &c->options;
    c->planted = take_memory(1, sizeof *c->planted);
    planted_init(c->planted, o->zipf, o->zipf_exponent, o->common.seed);
    c->train = c->planted->examples;
    c->test = (uint64_t)((double)c->train * o->held_back / (1 - o->held_back));
    c->validate = (uint64_t)((double)c->train * o->validate);
    c->features = c->planted->categories;
    c->fields = c->planted->fields;
}

void ctr_load(struct ctr *c)
{
    clicks_init(&c->clicks);
    if (c->options.zipf) {
        plant(c);
    } else {
        read_files(c);
    }
    plan_layers(c);
}

void ctr_unload(struct ctr *c)
{
    clicks_fini(&c->clicks);
    free(c->planted);
}
