#include "training.h"

#include "rows.h"
#include "figures.h"
#include "fail.h"
#include "pace.h"
#include "rejoin.h"
#include "run_log.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the job ---- */

/* Of a part: where workers wait for each other within an epoch there is none, and by time there are
 * some. */
static uint64_t breaks_of(const struct training *t)
{
    enum { BREAKS = 64, BREAKS_MAX = 4096 };
    const struct every *e = &t->settings->evaluates;
    double wanted = e->seconds > 0 ? BREAKS : 1;
    if (t->is_whole || t->pool->bound.is_on) return 1;
    if (e->examples > 0) wanted = 2 * (double)t->examples / e->examples;
    if (wanted > BREAKS_MAX) wanted = BREAKS_MAX;
    wanted = ceil(wanted / (double)t->checkpoints.parts);
    return wanted > 1 ? (uint64_t)wanted : 1;
}

void training_open(struct training *t, const struct training_kind *kind, void *program,
                   const struct settings *s, struct pool *pool)
{
    *t = (struct training){.kind = kind,
                           .program = program,
                           .settings = s,
                           .pool = pool,
                           .epochs = s->epochs,
                           .parts_max = 1};
    if (kind->ready) kind->ready(program, t);
    if (t->is_unjudged && args_has("--eval-every") && every_is_ever(&s->evaluates))
        fail_usage("--eval-every has nothing to evaluate by: leave it out");
    checkpoints_init(&t->checkpoints, &s->checkpoints, t->epochs, t->parts_max, s->json);
    t->breaks = breaks_of(t);
    meter_init(&t->meter, pool->rank == 0);
}

/* Tables for the best model, behind the others. Whoever goes on from a checkpoint may choose where
 * nothing was chosen, or the other way: with checkpoints they are always there. */
struct kept {
    char names[TRAINING_MODEL_TABLES][LOCUS_NAME_MAX];
};

static bool chooses(const struct training_kind *kind, const void *program)
{
    return kind->chooses && kind->chooses(program);
}

/* Returns how many tables there are with them. */
static size_t add_kept(struct kept *k, const struct training_kind *kind, const void *program,
                       const struct settings *s, struct locus_table *tables, size_t count)
{
    size_t floats[TRAINING_MODEL_TABLES];
    if (!chooses(kind, program) && !(kind->chooses && s->checkpoints.folder)) return count;
    kind->parameters(program, floats);
    for (size_t i = 0; i < TRAINING_MODEL_TABLES; i++) {
        snprintf(k->names[i], sizeof k->names[i], "best %s", tables[i].name);
        tables[count + i] = best_table(&tables[i], k->names[i], floats[i]);
    }
    return count + TRAINING_MODEL_TABLES;
}

/* Was it wanted? */
static bool give_up_survival(void)
{
    const char *text = getenv("LOCUS_SURVIVES");
    bool is_wanted = text && strcmp(text, "1") == 0;
    unsetenv("LOCUS_SURVIVES");
    return is_wanted;
}

int training_run(const struct training_kind *kind, int argc, char **argv)
{
    void *program = take_memory(1, kind->program_bytes);
    struct training *t = take_memory(1, sizeof *t);
    struct locus_table tables[POOL_TABLES_MAX];
    struct pool pool;
    struct kept names;
    fail_set_program(kind->name);
    signal(SIGXFSZ, SIG_IGN); /* then writing a checkpoint fails, with a reason */
    struct settings *s = kind->options(program);
    settings_parse(
        s, &(struct args_program){.name = kind->name, .about = kind->about, .more = kind->more},
        argc, argv);
    kind->check(program);
    settings_check(s);
    kind->load(program);
    size_t count = kind->tables(program, tables);
    for (size_t i = 0; i < TRAINING_MODEL_TABLES && s->element; i++)
        tables[i].element = (enum locus_element)s->element;
    size_t all = add_kept(&names, kind, program, s, tables, count);
    if (s->patience > 0 && !chooses(kind, program))
        fail_usage("--patience needs examples to validate with, and there are none");
    bool gives_up = !kind->rest && give_up_survival();
    settings_open_pool(s, &pool, tables, all, kind->digest(program));
    if (gives_up && pool.rank == 0)
        fprintf(stderr,
                "%s: the loss of a node ends this training: each has what no other one has\n",
                fail_program());
    training_open(t, kind, program, s, &pool);
    t->kept = chooses(kind, program) ? count : 0;
    if (pool.rank == 0) kind->start(program, &pool);
    if (kind->rest) pool_heeds_term(&pool);
    pool_run(&pool, kind->work ? kind->work : training_work, t);
    fail_keeps(NULL, NULL);
    pool_close(&pool);
    if (pool.leaves)
        fprintf(
            stderr,
            "%s: node %d has left, as SIGTERM told it to: the others go on, and what it had not "
            "done of its epoch nobody does\n",
            fail_program(), pool.rank);
    run_log_close();
    kind->unload(program);
    int status = t->has_diverged ? FAIL_STATUS : 0;
    free(program);
    free(t);
    return fail_unless_printed() ? FAIL_STATUS : status;
}

/* ---- the best model ---- */

double training_epochs(const struct training_worker *w)
{
    const struct training *t = w->training;
    double part = (double)w->progress.part + (double)w->breaks / (double)t->breaks;
    return (double)w->progress.epochs + part / (double)t->checkpoints.parts;
}

/* The first of a checkpoint's figures: the first worker alone knows how good the best one was. Since
 * then so many evaluations were no better. */
enum { BEST_EPOCH, BEST_QUALITY, BEST_WORSE };

/* Of what was never validated it is 0. */
static double best_epoch(const struct training_worker *w)
{
    return w->training->kept ? w->progress.figures[BEST_EPOCH] : 0;
}

double training_epoch_of(const struct training_worker *w)
{
    return best_epoch(w) > 0 ? best_epoch(w) : training_epochs(w);
}

static void best_rows(const struct training *t, struct best_rows rows[TRAINING_MODEL_TABLES])
{
    for (size_t i = 0; i < TRAINING_MODEL_TABLES; i++)
        rows[i] = (struct best_rows){.model = i, .kept = t->kept + i};
}

/* The last one needs no copy, unless others go on from it. */
static void choose(struct training_worker *w, bool is_last)
{
    const struct training *t = w->training;
    double *best = w->progress.figures;
    struct best_rows rows[TRAINING_MODEL_TABLES];
    double quality = t->kind->validate(w);
    bool is_better = best[BEST_EPOCH] <= 0 ? isfinite(quality) : quality > best[BEST_QUALITY];
    best_rows(t, rows);
    size_t count = is_last && !t->checkpoints.folder ? 0 : TRAINING_MODEL_TABLES;
    best[BEST_WORSE]++;
    if (!best_offer(w->member, is_better, rows, count)) return;
    if (count > 0 && t->kind->keep) t->kind->keep(w);
    best[BEST_WORSE] = 0;
    best[BEST_EPOCH] = training_epochs(w);
    best[BEST_QUALITY] = quality;
}

/* So many evaluations were no better: there is no hope of more. */
static bool is_patience_over(const struct training_worker *w)
{
    const struct training *t = w->training;
    const double *best = w->progress.figures;
    uint64_t patience = t->settings->patience;
    return t->kept && patience > 0 && best[BEST_EPOCH] > 0 && best[BEST_WORSE] >= (double)patience;
}

/* What is reported in the end is what is saved. */
static void take_best(struct training_worker *w)
{
    const struct training *t = w->training;
    struct best_rows rows[TRAINING_MODEL_TABLES];
    double epoch = best_epoch(w);
    char text[96];
    const struct figure figure = {.name = "epoch", .value = epoch};
    if (epoch <= 0) return;
    best_rows(t, rows);
    bool is_other = epoch != training_epochs(w);
    if (is_other) best_take(w->member, rows, TRAINING_MODEL_TABLES);
    if (is_other && t->kind->take) t->kind->take(w);
    snprintf(text, sizeof text, "the model is that of epoch %g, which was validated best%s", epoch,
             epoch <= 1 && training_epochs(w) >= 2 ? ": fewer epochs do" : "");
    if (training_is_first(w)) figures_say(t->settings->json, "best", text, &figure, 1);
}

/* ---- evaluations ---- */

/* As --eval-every says; `is_last`: all training is over. */
static void evaluate(struct training_worker *w, bool is_last)
{
    const struct training *t = w->training;
    if (t->kept)
        choose(w, is_last);
    else if (t->kind->evaluate && !is_last)
        t->kind->evaluate(w);
    else if (t->kind->validate && !is_last)
        t->kind->validate(w);
    w->judged = w->steps;
    if (t->settings->evaluates.seconds > 0) w->evaluated = meter_now();
}

static void evaluate_within(struct training_worker *w)
{
    struct training *t = w->training;
    const struct figure at = {"epoch ", 0, -6, .name = "epoch", .value = training_epochs(w)};
    if (training_is_first(w)) {
        meter_end(&t->meter);
        figures_say(t->settings->json, "within", "within", &at, 1);
    }
    evaluate(w, false);
}

/* Is it time for an evaluation? By time the first worker says so. To be summed up. Within an epoch
 * the steps may be longer than that: the same model again would be no better. */
static double evaluation_is_due(struct training_worker *w)
{
    const struct training *t = w->training;
    const struct every *e = &t->settings->evaluates;
    double now = training_epochs(w), before = w->evaluated;
    if (t->is_unjudged) return 0;
    if (e->seconds > 0) return training_is_first(w) && meter_now() - before >= e->seconds;
    if (e->epochs > 0) return now == floor(now) && (uint64_t)now % e->epochs == 0;
    if (e->examples <= 0) return 0;
    double a_epoch = (double)t->examples / e->examples;
    w->evaluated = now;
    return w->steps > w->judged && floor(now * a_epoch) > floor(before * a_epoch);
}

/* Without what a node has that was lost meanwhile it would be wrong: then once more. */
static void evaluate_surely(struct training_worker *w, bool is_last)
{
    const struct progress before = w->progress;
    bool is_other = w->member->pool->survives;
    evaluate(w, is_last);
    while (is_other && (is_other = rejoin_deal(w))) {
        w->progress = before;
        evaluate(w, is_last);
    }
}

/* ---- a part of an epoch ---- */

/* What progress.sums are of. */
enum { SUM_LOSS, SUM_EXAMPLES, SUM_SECONDS, SUM_MORE };

static bool is_over(const struct training *t)
{
    uint64_t limit = t->settings->seconds;
    return limit > 0 && meter_now() - t->began_s >= (double)limit;
}

/* Of the next step. Who has nothing to do holds up no other worker of its node: they have one
 * rate. */
static void set_rate(struct training_worker *w, uint64_t done)
{
    const struct training *t = w->training;
    const struct progress *p = &w->progress;
    double part = w->total && done < w->total ? (double)done / (double)w->total : done > 0,
           epoch = ((double)p->part + part) /
                   (double)(t->checkpoints.parts ? t->checkpoints.parts : 1);
    double share = rate_share(&t->settings->rate, ((double)p->epochs + epoch) / (double)t->epochs);
    unsigned workers = w->total > 0 ? w->member->total : 1;
    pool_set_rate(w->member, share * rate_among((double)w->steps++, workers));
}

/* The steps of this worker up to the next break, or as many as there is time for. */
static void run_steps(struct training_worker *w, struct training_sums *sums)
{
    struct training *t = w->training;
    uint64_t wanted = w->total * (w->breaks + 1) / t->breaks;
    bool is_last = w->breaks + 1 == t->breaks;
    struct pace pace;
    pace_begin(&pace, w->member, w->total, w->clocks);
    while (!w->is_through && (is_last || sums->done < wanted) &&
           (t->is_whole || (!is_over(t) && !pool_is_told(t->pool)))) {
        set_rate(w, sums->done);
        w->is_through = t->kind->step(w, sums);
        pace_done(&pace, sums->done);
        if (training_is_first(w) && !t->sweeps)
            meter_set(&t->meter, t->examples_before + (uint64_t)sums->examples * w->member->total);
    }
    pace_end(&pace);
    if (t->kind->flush) t->kind->flush(w);
    w->leaves = pool_must_leave(w->member);
}

/* Returns the seconds that it took, evaluations not included. */
static double run_part(struct training_worker *w, struct training_sums *own)
{
    const struct training *t = w->training;
    double seconds = 0, sums[2];
    w->is_through = false;
    for (w->breaks = 0;;) {
        double began = meter_now();
        counters_begin(&w->training->counters, w->member);
        run_steps(w, own);
        counters_end(&w->training->counters, w->member);
        if (w->breaks + 1 == t->breaks || w->leaves) return seconds + (meter_now() - began);
        w->breaks++;
        sums[0] = is_over(t);
        sums[1] = evaluation_is_due(w);
        pool_sum(w->member, sums, 2);
        seconds += meter_now() - began;
        if (sums[0] > 0) return seconds;
        if (sums[1] > 0) evaluate_within(w);
        if (is_patience_over(w)) return seconds;
    }
}

/* Returns whether there is to be more, and says what is due. */
static bool train_part(struct training_worker *w, struct due *due)
{
    struct training *t = w->training;
    struct progress *p = &w->progress;
    if (training_is_first(w)) t->examples_before = (uint64_t)p->sums[SUM_EXAMPLES];
    struct training_sums own = {0};
    double seconds = run_part(w, &own), began = meter_now();
    if (w->leaves) return false;
    w->breaks = 0;
    progress_next(p, t->checkpoints.parts);
    double sums[] = {own.loss,
                     own.examples,
                     own.more,
                     is_over(t),
                     checkpoints_is_due(&t->checkpoints, w->member, p),
                     evaluation_is_due(w),
                     w->steps > w->judged,
                     1};
    pool_sum(w->member, sums, sizeof sums / sizeof *sums);
    p->sums[SUM_LOSS] += sums[0];
    p->sums[SUM_EXAMPLES] += sums[1];
    p->sums[SUM_MORE] += sums[2];
    p->sums[SUM_SECONDS] += seconds + (meter_now() - began);
    bool has_time = sums[3] == 0 && !is_patience_over(w);
    due->checkpoint = sums[4] > 0 && (has_time || t->sweeps);
    due->evaluation = sums[5] > 0;
    due->is_new = sums[6] > 0;
    due->is_short |= sums[7] < w->member->total;
    return has_time;
}

static bool write_checkpoint(struct training_worker *w)
{
    struct training *t = w->training;
    if (t->kind->checkpoint) t->kind->checkpoint(w);
    return checkpoints_write(&t->checkpoints, w->member, &w->progress);
}

/* The parts that are left of an epoch; likewise. */
static bool train_parts(struct training_worker *w, struct due *due)
{
    bool has_time;
    do {
        has_time = train_part(w, due);
        if (w->leaves) return false;
        if (w->progress.part == 0) continue;
        if (due->evaluation && has_time) evaluate_within(w);
        if (due->checkpoint && training_is_first(w)) meter_end(&w->training->meter);
        if (due->checkpoint && !write_checkpoint(w))
            checkpoints_leave_out(&w->training->checkpoints, w->member);
        has_time = has_time && !is_patience_over(w);
    } while (has_time && w->progress.part > 0);
    return has_time;
}

/* ---- an epoch ---- */

static void begin_meter(struct training *t, uint64_t number)
{
    char task[32];
    if (t->sweeps) return;
    snprintf(task, sizeof task, "epoch %llu", (unsigned long long)number);
    meter_begin(&t->meter, task, t->kind->unit, t->examples);
}

static void end_meter(struct training *t, uint64_t number)
{
    if (t->sweeps)
        meter_set(&t->meter, number);
    else
        meter_end(&t->meter);
}

/* A loss that is no number ends the training: with the best model so far, if there is one. The same
 * on all workers. */
static bool diverges(struct training_worker *w, uint64_t number)
{
    struct training *t = w->training;
    bool is_first = training_is_first(w);
    if (t->sweeps || isfinite(w->progress.sums[SUM_LOSS])) return false;
    double best = best_epoch(w);
    static const char sentence[] = "the loss is no number any more in epoch %llu: choose a smaller "
                                   "--lr";
    if (is_first && best <= 0) fail(sentence, (unsigned long long)number);
    if (is_first) {
        fprintf(stderr, "%s: ", fail_program());
        fprintf(stderr, sentence, (unsigned long long)number);
        fprintf(stderr, "; the model is that of epoch %g\n", best);
    }
    if (w->member->index == 0) t->has_diverged = true;
    return true;
}

static void report(struct training_worker *w, uint64_t number, bool has_time, bool is_whole)
{
    struct training *t = w->training;
    const double *sums = w->progress.sums;
    if (sums[SUM_EXAMPLES] == 0 && !has_time) return; /* it has not begun */
    t->kind->report(w->program, &(struct training_epoch){.training = t,
                                                         .number = number,
                                                         .examples = sums[SUM_EXAMPLES],
                                                         .loss = sums[SUM_LOSS],
                                                         .more = sums[SUM_MORE],
                                                         .seconds = sums[SUM_SECONDS],
                                                         .is_whole = is_whole});
}

/* What is left of one. */
static void train_epoch(struct training_worker *w, struct due *due)
{
    struct training *t = w->training;
    uint64_t number = w->progress.epochs + 1;
    *due = (struct due){.is_behind = true};
    if (t->kind->epoch) t->kind->epoch(w);
    if (training_is_first(w)) begin_meter(t, number);
    bool has_time = train_parts(w, due);
    if (training_is_first(w)) end_meter(t, number);
    if (w->leaves) return;
    bool has_diverged = diverges(w, number);
    if (training_is_first(w) && !has_diverged)
        report(w, number, has_time, has_time && !due->is_short);
    memset(w->progress.sums, 0, sizeof w->progress.sums);
    if (has_diverged) due->checkpoint = false;
    due->is_end = !has_time || has_diverged;
    due->is_good = !has_diverged;
}

static void finish_epoch(struct training_worker *w, struct due *due)
{
    struct training *t = w->training;
    bool is_last = due->is_end || w->progress.epochs == t->epochs;
    bool is_due = due->evaluation || (is_last && (due->is_new || best_epoch(w) <= 0));
    bool evaluates = due->is_good && !due->is_judged && !is_patience_over(w) && is_due;
    if (evaluates && t->kept) evaluate_surely(w, is_last);
    due->is_judged = t->kept;
    is_last |= is_patience_over(w);
    while (due->checkpoint && !write_checkpoint(w)) {
        due->checkpoint =
            checkpoints_wait(&t->checkpoints, w->member, "writing a checkpoint", is_last);
        rejoin_meet(w, due);
    }
    due->checkpoint = false;
    if (evaluates && !t->kept) evaluate_surely(w, is_last);
}

static void train_all(struct training_worker *w, struct due *due)
{
    struct training *t = w->training;
    const struct progress *p = &w->progress;
    bool shows_sweeps = training_is_first(w) && t->sweeps;
    if (shows_sweeps) meter_begin(&t->meter, "training", t->sweeps, t->epochs);
    if (due->is_behind) finish_epoch(w, due); /* a newcomer's first one is the others' */
    while (p->epochs < t->epochs && !due->is_end && !is_patience_over(w)) {
        train_epoch(w, due);
        if (w->leaves) return;
        rejoin_meet(w, due);
        finish_epoch(w, due);
    }
    if (shows_sweeps) meter_end(&t->meter);
}

/* ---- a worker ---- */

/* False: a newcomer finds that all is over. */
static bool begin(struct training_worker *w, struct due *due)
{
    struct training *t = w->training;
    struct pool_member *m = w->member;
    w->is_outside = m->pool->is_newcomer;
    if (!w->is_outside) rejoin_begin(w);
    if (!rejoin_meet(w, due)) return false;
    if (m->index == 0) t->began_s = meter_now() - w->progress.seconds;
    w->evaluated = t->settings->evaluates.seconds > 0 ? meter_now() : training_epochs(w);
    checkpoints_begin(&t->checkpoints, m, &w->progress);
    pool_meet_here(m);
    return true;
}

void training_work(struct pool_member *m, void *training)
{
    struct training *t = training;
    const struct training_kind *kind = t->kind;
    struct training_worker w = {.training = t, .member = m, .program = t->program};
    struct due due = {.is_good = true};
    w.state = take_memory(1, kind->worker_bytes);
    if (!begin(&w, &due)) {
        if (m->index == 0)
            fprintf(stderr, "%s: the training ended before this node could take part\n",
                    fail_program());
        free(w.state);
        return;
    }
    train_all(&w, &due);
    if (w.leaves) {
        kind->rest(&w);
        free(w.state);
        return;
    }
    take_best(&w);
    kind->end(&w);
    const struct counters counters = counters_take(&t->counters, m);
    if (m->place == 0 && m->worker) counters_show(&counters, m->pool->size, t->settings->json);
    if (m->place == 0) kind->save(&w);
    if (kind->close) kind->close(&w);
    free(w.state);
}

/* ---- for programs ---- */

struct locus_table training_table(const char *name, uint64_t rows, size_t length)
{
    return (struct locus_table){.name = name, .rows = rows, .length = (uint32_t)length};
}

struct locus_table training_adagrad(const char *name, uint64_t rows, size_t length, double rate)
{
    struct locus_table t = training_table(name, rows, length);
    t.optimizer = LOCUS_ADAGRAD;
    t.rule.rate = (float)rate;
    return t;
}

void training_keep_hot(const struct training_worker *w, size_t keys,
                       void (*count)(const void *program, uint64_t *count))
{
    const struct settings *s = w->training->settings;
    if (w->member->index != 0 || !settings_keeps(s)) return;
    uint64_t *counts = take_memory(keys, sizeof *counts);
    count(w->program, counts);
    settings_keep(s, w->member, counts, keys);
    free(counts);
}

void training_say_epoch(const struct training_epoch *e, const struct figure *figures, size_t count)
{
    const struct training_kind *kind = e->training->kind;
    double rate = e->examples / e->seconds;
    char head[32], unit[32];
    struct figure all[16] = {{.name = "epoch", .value = (double)e->number},
                             {.name = "seconds", .value = e->seconds},
                             {.name = "examples_per_second", .value = rate},
                             figures[0],
                             {"", 7, 2, " s", .value = e->seconds},
                             {"", 9, 0, unit, .curve = kind->rate, .value = rate}};
    snprintf(head, sizeof head, "epoch %3llu", (unsigned long long)e->number);
    snprintf(unit, sizeof unit, " %s/s", kind->unit);
    memcpy(all + 6, figures + 1, (count - 1) * sizeof *figures);
    figures_say(e->training->settings->json, "epoch", head, all, 5 + count);
}
