#include "explain.h"

#include "args.h"
#include "clock.h"
#include "fail.h"
#include "explained.h"
#include "known.h"
#include "look.h"
#include "say.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: locus explain [options] [TABLE:]KEY [HOST:PORT ...]\n"
    "\n"
    "Says why a row of a running job is where it is: its main copy, its replicas and their age, the intents for it, and\n"
    "the last decisions with their reasons. KEY is a key, or the row of TABLE. The nodes must serve metrics\n"
    "(LOCUS_METRICS). HOST:PORT is rank 0's, which stands for all nodes at the ports after it, or another node's. Without\n"
    "one it asks the job of this user on this host.\n"
    "\n"
    "  --wait SECONDS  ask twice, with this pause; decisions of the pause are always remembered (0)\n"
    "  --json          the same as JSON objects\n"
    "  -h, --help      this text\n";

struct explain {
    double wait_s;
    bool json;
    const char *what;
    char **address;
    size_t count;
};

/* ---- the command line ---- */

static int parse(struct explain *e, int argc, char **argv)
{
    const struct args_option options[] = {
        OPTION_REAL("--wait", "SECONDS", &e->wait_s, 0, 60, 0, ""),
        OPTION_FLAG("--json", &e->json, 0, ""),
    };
    char **words;
    args_parse(&(struct args_program){.help = usage,
                                      .options = options,
                                      .option_count = sizeof options / sizeof *options,
                                      .words = &words},
               argc, argv);
    if (words == argv + argc)
        return say_and(STATUS_USAGE, "which key? locus explain 7, or entities:7");
    e->what = words[0];
    e->address = words + 1;
    e->count = (size_t)(argv + argc - e->address);
    return 0;
}

/* "7", "entities:7"; names of tables may have colons, numbers have none. Returns false for what can
 * be neither. */
static bool make_path(const char *what, char path[SCRAPE_PATH_MAX])
{
    const char *colon = strrchr(what, ':'), *number = colon ? colon + 1 : what;
    size_t digits = strspn(number, "0123456789");
    if (digits < 1 || digits > 19 || number[digits]) return false;
    size_t at = (size_t)snprintf(path, SCRAPE_PATH_MAX, "/key?key=%s", number);
    if (!colon) return true;
    at += (size_t)snprintf(path + at, SCRAPE_PATH_MAX - at, "&table=");
    for (const char *c = what; c < colon; c++) {
        if (at + 4 > SCRAPE_PATH_MAX) return false;
        at += (size_t)snprintf(path + at, SCRAPE_PATH_MAX - at,
                               isalnum((unsigned char)*c) ? "%c" : "%%%02X", (unsigned char)*c);
    }
    return true;
}

/* ---- asking ---- */

static int refused(const struct scrape_answer *a)
{
    /* A job of another version has no such path. */
    if (strncmp(a->why, "no such path", 12) == 0)
        return say_and(STATUS_FAILED,
                       "the job's library is older than this command: it cannot tell");
    return say_and(a->status == 400 ? STATUS_USAGE : STATUS_FAILED, "%s", a->why);
}

/* Nodes that do not answer are left out, if any does; one that refuses ends it. */
static int ask_all(const struct look *l, const char *path, struct explained *out)
{
    struct scrape_answer a = {0};
    int rc = 0;
    out->count = 0;
    for (size_t i = 0; i < l->count && rc == 0; i++) {
        const struct look_row *r = &l->row[i];
        bool answers = scrape_path(r->address, r->port_more, path, &a);
        if (!answers && a.status)
            rc = refused(&a);
        else if (answers && known_read(&out->known[out->count], a.text, clock_s()))
            out->count++;
        else if (answers)
            rc = say_and(STATUS_FAILED, "what %s + %u says of the key is not to be understood",
                         r->address, r->port_more);
        free(a.text);
    }
    if (rc == 0 && out->count == 0) rc = say_and(STATUS_FAILED, "%s: has the job ended?", a.why);
    return rc;
}

static int check_jobs(const struct explain *e, const struct look *l)
{
    if (l->count == 0)
        return say_and(STATUS_FAILED, "no job of yours on this host serves metrics: start it with "
                                      "LOCUS_METRICS=127.0.0.1:9400, or give HOST:PORT");
    for (size_t i = 1; i < l->count && e->count == 0; i++)
        if (strcmp(l->row[i].address, l->row[0].address) != 0)
            return say_and(STATUS_USAGE, "several jobs of yours run here: give HOST:PORT, %s or %s",
                           l->row[0].address, l->row[i].address);
    return 0;
}

static void pause_for(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

static int explain(const struct explain *e, const struct look *l, const char *path)
{
    struct explained x = {.known = calloc(l->count, sizeof(struct known))};
    int rc = x.known ? ask_all(l, path, &x) : say_and(STATUS_FAILED, "no memory");
    if (rc == 0 && e->wait_s > 0) {
        pause_for(e->wait_s);
        rc = ask_all(l, path, &x);
    }
    if (rc == 0) {
        x.now_s = clock_s();
        if (e->json)
            explained_json(&x);
        else
            explained_show(&x);
        if (fflush(stdout) || ferror(stdout))
            rc = say_and(STATUS_FAILED, "stdout cannot be written");
        else if (x.count < x.known[0].nodes)
            rc = STATUS_FAILED;
    }
    free(x.known);
    return rc;
}

int explain_main(int argc, char **argv)
{
    struct explain e = {.what = ""};
    struct look l = {0};
    char path[SCRAPE_PATH_MAX];
    say_as("locus explain");
    fail_set_program("locus explain");
    int rc = parse(&e, argc, argv);
    if (rc) return rc;
    if (!make_path(e.what, path))
        return say_and(STATUS_USAGE, "\"%s\" is no key: write a number, or TABLE:ROW", e.what);
    if (!look_find(&l, e.address, e.count)) rc = say_and(STATUS_FAILED, "no memory");
    if (rc == 0) rc = check_jobs(&e, &l);
    if (rc == 0) rc = explain(&e, &l, path);
    look_free(&l);
    return rc;
}
