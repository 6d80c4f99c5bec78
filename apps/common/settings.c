#include "settings.h"

#include "digest.h"
#include "fail.h"
#include "hot.h"
#include "json.h"
#include "plain.h"
#include "run_log.h"
#include "saving.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const techniques[] = {"adaptive", "static", "relocate", "replicate", "full",
                                         "nups",     "ssp",    "essp",     NULL};
enum { TECHNIQUE_NUPS = LOCUS_FULL_REPLICATION + 1, TECHNIQUE_SSP, TECHNIQUE_ESSP };
static const char *const elements[] = {"f32", "bf16", NULL};
static const char *const samplings[] = {"conform", "bounded", "long-term", "non-conform", NULL};

_Static_assert(sizeof techniques == sizeof((struct settings *)0)->techniques,
               "each technique may be offered");
_Static_assert(LOCUS_ADAPTIVE == 0 && LOCUS_FULL_REPLICATION == 4,
               "techniques are in the order of their names");
_Static_assert(LOCUS_CONFORM == 0 && LOCUS_NON_CONFORM == 3,
               "levels are in the order of their names");

/* A number from `least` to `most`; `otherwise` without the variable. */
static unsigned long of_environment(const char *name, unsigned long least, unsigned long most,
                                    unsigned long otherwise)
{
    const char *text = getenv(name);
    if (!text || !*text) return otherwise;
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || n < least || n > most)
        fail_usage("%s is \"%s\": must be a number from %lu to %lu", name, text, least, most);
    return n;
}

/* The laboratory trains with steps as long as another program's (lab/report.py). */
static void slow_as_told(void)
{
    world_slow(1e-9 * (double)of_environment("LOCUS_STEP_TIME", 0, 1000000000, 0));
}

void settings_init(struct settings *s, unsigned has)
{
    *s = (struct settings){.workers = of_environment("LOCUS_WORKERS", 1, LOCUS_WORKERS_MAX, 1),
                           .seed = 1,
                           .epochs = 10,
                           .hot = "auto",
                           .schedule = "constant",
                           .eval_every = "0",
                           .staleness = 1,
                           .has = has};
    memcpy(s->techniques, techniques, sizeof s->techniques);
    if (!(has & SETTINGS_FULL)) s->techniques[LOCUS_FULL_REPLICATION] = "";
    if (!(has & SETTINGS_HOT)) s->techniques[TECHNIQUE_NUPS] = "";
    if (!(has & SETTINGS_BOUNDS)) s->techniques[TECHNIQUE_SSP] = s->techniques[TECHNIQUE_ESSP] = "";
}

static const char *technique_help(unsigned has)
{
    if (has & SETTINGS_BOUNDS)
        return "how rows are managed: adaptive, static, relocate,\nreplicate or full; nups: hot keys are replicated for\ngood, all others relocated; ssp, essp: replicated when\nthey are missed, for --staleness clocks or for good";
    if (has & SETTINGS_HOT)
        return "how rows are managed: adaptive, static, relocate,\nreplicate or full; nups: hot keys are replicated for\ngood, all others relocated";
    if (has & SETTINGS_FULL)
        return "how rows are managed: adaptive, static, relocate,\nreplicate or full";
    return "how rows are managed: adaptive, static, relocate or\nreplicate";
}

void settings_options(struct settings *s)
{
    const struct {
        unsigned has; /* 0: all programs have it */
        struct args_option option;
    } all[] = {
        {SETTINGS_EPOCHS, OPTION_COUNT("--epochs", "N", &s->epochs, 0, 1e6, ARGS_NODES,
                                       "passes over the data, which all workers divide")},
        {SETTINGS_EPOCHS,
         OPTION_TEXT(
             "--eval-every", "N[s|k|M]", &s->eval_every, ARGS_NODES,
             "evaluate every N epochs, about every N seconds (30s), or\nthousand or million examples (500k, 2M); and at the end")},
        {SETTINGS_EPOCHS,
         OPTION_COUNT(
             "--seconds", "N", &s->seconds, 0, 1e9, ARGS_NODES,
             "end the training after that time, wherever it is (lda,\nmf's blocks: after the epoch); 0: after the last epoch")},
        {0,
         OPTION_TEXT("--from", "FILE", &s->from, ARGS_TASK | ARGS_INPUT,
                     "start from a saved model: what has the same name begins\nwith its values")},
        {SETTINGS_PATIENCE,
         OPTION_COUNT(
             "--patience", "N", &s->patience, 0, 1e6, ARGS_NODES,
             "end after N evaluations in a row that are no better, and\nkeep the best model; evaluates each epoch, unless\n--eval-every is given; 0: train all epochs")},
        {SETTINGS_RATE,
         OPTION_TEXT(
             "--schedule", "SHAPE", &s->schedule, ARGS_TASK,
             "of the learning rate over all epochs: constant, linear or\ncosine; then ,to=X: the share that is left at the end;\n,warmup=X: the share of the epochs in which it rises")},
        {SETTINGS_RATE,
         OPTION_CHOICE(
             "--element", "NAME", &s->element, elements, ARGS_TASK,
             "what a number of the model is in memory and in messages:\nf32, four bytes, or bf16, two")},
        {0, OPTION_COUNT("--seed", "N", &s->seed, 0, 0x1p53, ARGS_TASK, "of everything random")},
        {0, OPTION_COUNT("--workers", "N", &s->workers, 1, LOCUS_WORKERS_MAX, ARGS_NODES,
                         "training threads of each node")},
        {0, OPTION_CHOICE("--technique", "NAME", &s->technique, s->techniques, ARGS_NODES,
                          technique_help(s->has))},
        {SETTINGS_HOT,
         OPTION_TEXT(
             "--hot", "RULE", &s->hot, 0,
             "which keys are hot for nups: a number of keys, 50x (more\nthan 50 times as frequent as the mean), or auto (100x)")},
        {SETTINGS_BOUNDS,
         OPTION_COUNT(
             "--staleness", "S", &s->staleness, 0, 1e6, ARGS_NODES,
             "clocks that copies may be behind with ssp and essp; 0: all\nworkers keep step")},
        {0, OPTION_TEXT("--out", "PATH", &s->out, ARGS_OUTPUT,
                        "write the model there, as safetensors")},
        {0,
         OPTION_TEXT(
             "--report", "PATH", &s->report, ARGS_OUTPUT,
             "at the end write a page of the run there (HTML); what it is made\nof is written beside it all the time: PATH.parts.*")},
        {0, OPTION_FLAG("--json", &s->json, 0,
                        "rank 0 prints JSON lines on stdout, and nothing else")},
        {0, OPTION_FLAG("--baseline", &s->is_baseline, 0,
                        "without locus: plain arrays shared by the threads")},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i].has || (s->has & all[i].has)) args_add(&s->list, &all[i].option, 1);
}

struct args_option settings_sampling(struct settings *s)
{
    return (struct args_option)OPTION_CHOICE(
        "--sampling", "LEVEL", &s->sampling, samplings, ARGS_TASK,
        "how close negative samples keep to the\ndistribution: conform, bounded, long-term or\nnon-conform");
}

void settings_parse(struct settings *s, const struct args_program *program, int argc, char **argv)
{
    struct args_program p = *program;
    checkpoints_options(&s->checkpoints, &s->list);
    p.options = s->list.options;
    p.option_count = s->list.count;
    if (argc == 1) args_usage(&p, "--data");
    args_parse(&p, argc, argv);
}

void settings_check_source(const struct settings *s, const char *what)
{
    if (!s->data) fail_usage("--data is missing: %s to learn from", what);
}

/* Where some would be written that are read, or written by another option, that ends the program. */
static void check_files(const struct settings *s)
{
    const char *outputs[ARGS_LIST_MAX], *inputs[ARGS_LIST_MAX + SETTINGS_INPUTS + 1];
    size_t written = args_files(&s->list, ARGS_OUTPUT, outputs),
           read = args_files(&s->list, ARGS_INPUT, inputs);
    for (size_t i = 0; i < SETTINGS_INPUTS; i++) inputs[read++] = s->inputs[i];
    inputs[read++] = s->checkpoints.folder;
    saving_check(outputs, written, inputs, read);
}

/* What has no effect is refused. */
static void check_technique(const struct settings *s)
{
    const char *technique = techniques[s->technique];
    bool is_hot = s->has & SETTINGS_HOT, has_bounds = s->has & SETTINGS_BOUNDS;
    if (is_hot && args_has("--hot") && s->technique != TECHNIQUE_NUPS)
        fail_usage("--hot is for --technique nups, and this one is %s", technique);
    if (has_bounds && args_has("--staleness") && !settings_is_bounded(s))
        fail_usage("--staleness is for --technique ssp and essp, and this one is %s", technique);
}

/* Launchers that leave stdin to one node alone; srun gives it to all. */
static bool is_one_of_several(void)
{
    static const char *const names[] = {"LOCUS_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text && strtoul(text, NULL, 10) > 1) return true;
    }
    return false;
}

/* Before anything is read or written. */
static void check_streams(const struct settings *s)
{
    const char *files[ARGS_LIST_MAX];
    size_t count = args_files(&s->list, ARGS_INPUT, files), of_stdin = 0;
    for (size_t i = 0; i < count; i++) of_stdin += strcmp(files[i], "-") == 0;
    if (of_stdin > 1) fail_usage("- is stdin, which one option alone can have");
    if (of_stdin > 0 && is_one_of_several())
        fail_usage("several nodes cannot read stdin: write a file that all of them see");
    count = args_files(&s->list, ARGS_OUTPUT, files);
    for (size_t i = 0; i < count; i++)
        if (strcmp(files[i], "-") == 0)
            fail_usage("- would be stdout, where figures go: write another file");
}

/* What locus-report would refuse after the training. */
static void check_page(const char *page)
{
    static const char *const others[] = {".png", ".svg", ".pdf", ".csv", ".json"};
    const char *end = page ? strrchr(page, '.') : NULL;
    for (size_t i = 0; end && i < sizeof others / sizeof *others; i++)
        if (strcasecmp(end, others[i]) == 0)
            fail_usage("--report %s: a page is HTML: name it .html", page);
}

void settings_check(struct settings *s)
{
    check_technique(s);
    check_streams(s);
    check_page(s->report);
    rate_parse(&s->rate, s->schedule);
    if (!every_read(&s->evaluates, s->eval_every))
        fail_usage("--eval-every takes a number of epochs, of seconds (30s), or of thousands or "
                   "millions of examples (500k, 2M), not \"%s\"",
                   s->eval_every);
    if (s->patience > 0 && !every_is_ever(&s->evaluates)) s->evaluates.epochs = 1;
    if (s->element && (s->is_baseline || settings_is_bounded(s)))
        fail_usage("--element bf16 has no rows in place: leave --baseline, ssp and essp away");
    if (s->is_baseline && s->checkpoints.folder)
        fail_usage("--baseline writes no checkpoints: leave --checkpoint away");
    checkpoints_check(&s->checkpoints);
}

enum locus_technique settings_technique(const struct settings *s)
{
    if (s->technique == TECHNIQUE_NUPS) return LOCUS_RELOCATE;
    return settings_is_bounded(s) ? LOCUS_REPLICATE : (enum locus_technique)s->technique;
}

bool settings_is_bounded(const struct settings *s)
{
    return s->technique == TECHNIQUE_SSP || s->technique == TECHNIQUE_ESSP;
}

/* Said once more before it is needed: a wrong one ends the program. */
static struct hot_rule rule_of(const struct settings *s)
{
    struct hot_rule rule;
    if (!hot_parse(&rule, s->hot))
        fail_usage("--hot is \"%s\": must be auto, a number of keys from 1, or a factor like 50x",
                   s->hot);
    return rule;
}

bool settings_keeps(const struct settings *s)
{
    return s->technique == TECHNIQUE_NUPS && !s->is_baseline;
}

void settings_keep(const struct settings *s, const struct pool_member *m, const uint64_t *count,
                   size_t keys)
{
    const struct hot_rule rule = rule_of(s);
    size_t hot = hot_keep(&rule, m, count, keys);
    if (m->place == 0 && !s->json) printf("%zu of %zu keys are hot, and replicated\n", hot, keys);
}

static void add_option(void *json, const char *name, const char *value)
{
    json_text(json, name, value);
}

/* What a run was, before its figures. */
static void say_run(const struct settings *s, const struct pool *pool)
{
    struct json j;
    json_begin(&j, "run");
    json_text(&j, "program", fail_program());
    json_count(&j, "nodes", s->is_baseline ? 0 : (uint64_t)pool->size);
    json_count(&j, "workers", pool->workers);
    json_text(&j, "data", s->data);
    args_each(0, add_option, &j);
    json_end(&j);
}

void settings_open_pool(const struct settings *s, struct pool *pool,
                        const struct locus_table *tables, size_t table_count,
                        struct settings_digest digest)
{
    (void)rule_of(s);
    slow_as_told();
    const uint64_t task[] = {digest.trained, args_digest(&s->list, ARGS_TASK)},
                   nodes[] = {digest.trained, digest.judged, args_digest(&s->list, ARGS_NODES)};
    struct pool_config c = {.tables = tables,
                            .table_count = table_count,
                            .workers = (unsigned)s->workers,
                            .spare = (unsigned)s->spare,
                            .technique = settings_technique(s),
                            .bound = {.is_on = settings_is_bounded(s) && !s->is_baseline,
                                      .keeps = s->technique == TECHNIQUE_ESSP,
                                      .staleness = (locus_clock)s->staleness},
                            .is_baseline = s->is_baseline,
                            .task = digest_add(DIGEST_FIRST, task, sizeof task)};
    c.fingerprint =
        checkpoints_digest(&s->checkpoints, digest_add(DIGEST_FIRST, nodes, sizeof nodes));
    run_log_place(s->report, !s->is_baseline);
    pool_open(pool, &c);
    if (pool->rank == 0) check_files(s);
    run_log_open(pool->rank, s->is_baseline ? 0 : pool->size, checkpoints_restarts());
    if (s->json && pool->rank == 0) say_run(s, pool);
}

void settings_show_pool(const struct settings *s, const struct pool *pool, bool has_samples)
{
    const char *plural = plain_s(pool->workers);
    if (s->is_baseline) {
        printf("baseline: plain arrays, %u thread%s\n", pool->workers, plural);
    } else {
        printf("%d node%s of %u worker%s, %s", pool->size, plain_s((uint64_t)pool->size),
               pool->workers, plural, techniques[s->technique]);
        if (pool->bound.is_on) printf(" (staleness %llu)", (unsigned long long)s->staleness);
        if (has_samples) printf(", %s samples", samplings[s->sampling]);
        printf("\n");
    }
    fflush(stdout);
}
