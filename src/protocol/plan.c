#include "protocol/plan.h"

#include "base/error.h"
#include "base/notation.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- techniques ---- */

static const struct technique techniques[] = {
    [LOCUS_ADAPTIVE] = {"adaptive", "LOCUS_ADAPTIVE", .moves = true, .heeds_intents = true,
                        .localizes = true, .replicates = true, .moves_to_only_one = true,
                        .survives = true},
    [LOCUS_STATIC] = {.name = "static", .api_name = "LOCUS_STATIC"},
    [LOCUS_RELOCATE] = {"relocate", "LOCUS_RELOCATE", .moves = true, .heeds_intents = true,
                        .localizes = true, .rows_follow = true, .survives = true},
    [LOCUS_REPLICATE] = {"replicate", "LOCUS_REPLICATE", .moves = true, .heeds_intents = true,
                         .replicates = true, .survives = true},
    [LOCUS_FULL_REPLICATION] = {"full_replication", "LOCUS_FULL_REPLICATION", .moves = true,
                                .every_node_holds = true, .replicates = true},
};

const struct technique *technique_of(unsigned number)
{
    return number < sizeof techniques / sizeof *techniques ? &techniques[number] : NULL;
}

/* ---- fields of struct locus_config ---- */

enum { SECONDS_MAX = 1000000000 };
/* What is equal goes into a hello in this order. So a row that is equal is a new MESSAGE_VERSION
 * (cluster/message.h). The fingerprint is the last: others say more of what differs. */
#define OF(f) offsetof(struct locus_config, f), sizeof(((struct locus_config *)NULL)->f)
static const struct config_field fields[] = {
    {"workers", OF(workers), CONFIG_COUNT, .least = 1, .most = LOCUS_WORKERS_MAX},
    {"shards", OF(shards), CONFIG_COUNT, .most = LOCUS_SHARDS_MAX},
    {"technique", OF(technique), CONFIG_TECHNIQUE, .is_equal = true},
    {"survives", OF(survives), CONFIG_COUNT, .is_equal = true, .most = 1,
     .variable = "LOCUS_SURVIVES"},
    {"data and options of fingerprint", OF(fingerprint), CONFIG_FINGERPRINT, .is_equal = true},
    {"peer_timeout_s", OF(peer_timeout_s), CONFIG_SECONDS, .standard = 10,
     .variable = "LOCUS_PEER_TIMEOUT"},
    {"join_timeout_s", OF(join_timeout_s), CONFIG_SECONDS, .standard = 60,
     .variable = "LOCUS_JOIN_TIMEOUT"},
    {"rendezvous", OF(rendezvous), CONFIG_TEXT, .variable = "LOCUS_RENDEZVOUS"},
    {"listen", OF(listen), CONFIG_TEXT, .variable = "LOCUS_LISTEN"},
};
#undef OF
enum { FIELDS = sizeof fields / sizeof *fields };

/* What the field's variable says; NULL: nothing. */
static const char *told(const struct config_field *f)
{
    const char *text = f->variable ? getenv(f->variable) : NULL;
    return text && *text ? text : NULL;
}

static int read_count(const struct config_field *f, const char *text, unsigned *count)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    *count = (unsigned)n;
    if (*text >= '0' && *text <= '9' && !*end && n >= f->least && n <= f->most) return 0;
    return error_set(-EINVAL, "%s is \"%.40s\": must be %u to %u", f->variable, text, f->least,
                     f->most);
}

static int complete_count(const struct config_field *f, unsigned *count)
{
    if (*count == 0 && told(f)) return read_count(f, told(f), count);
    if (*count >= f->least && *count <= f->most) return 0;
    return error_set(-EINVAL, "%s is %u: must be %u to %u", f->name, *count, f->least, f->most);
}

static int read_seconds(const struct config_field *f, const char *text, double *seconds)
{
    char *end;
    *seconds = notation_read(text, &end);
    if (end > text && !*end && *seconds > 0 && *seconds <= SECONDS_MAX) return 0;
    return error_set(-EINVAL, "%s is \"%.40s\": must be a number of seconds above 0, at most %d",
                     f->variable, text, SECONDS_MAX);
}

static int complete_seconds(const struct config_field *f, double *seconds)
{
    if (*seconds == 0 && told(f)) return read_seconds(f, told(f), seconds);
    if (!isfinite(*seconds) || *seconds < 0 || *seconds > SECONDS_MAX)
        return error_set(-EINVAL,
                         "%s is %g: must be a number of seconds, at most %d; 0: the default",
                         f->name, *seconds, SECONDS_MAX);
    if (*seconds <= 0) *seconds = f->standard;
    return 0;
}

int config_complete(struct locus_config *c)
{
    int rc = 0;
    for (const struct config_field *f = fields; f < fields + FIELDS && rc == 0; f++) {
        void *at = (char *)c + f->offset;
        if (f->kind == CONFIG_COUNT) rc = complete_count(f, at);
        if (f->kind == CONFIG_SECONDS) rc = complete_seconds(f, at);
        if (f->kind == CONFIG_TEXT && !*(const char **)at) *(const char **)at = told(f);
    }
    const struct technique *t = technique_of(c->technique);
    if (rc) return rc;
    if (!t) return error_set(-EINVAL, "technique is %d: no such technique", (int)c->technique);
    if (!c->survives || t->survives) return 0;
    return error_set(-EINVAL,
                     "survives is 1, and technique %s: only LOCUS_ADAPTIVE, LOCUS_RELOCATE and "
                     "LOCUS_REPLICATE survive the loss of a node; without `survives` and "
                     "LOCUS_SURVIVES it ends the job",
                     t->api_name);
}

const char *config_variable(size_t i)
{
    for (const struct config_field *f = fields; f < fields + FIELDS; f++)
        if (f->variable && i-- == 0) return f->variable;
    return NULL;
}

/* ---- what is equal on all nodes ---- */

const struct config_field *config_equal(size_t i)
{
    for (const struct config_field *f = fields; f < fields + FIELDS; f++)
        if (f->is_equal && i-- == 0) return f;
    return NULL;
}

uint64_t config_value(const struct config_field *f, const struct locus_config *c)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)c + f->offset, f->bytes);
    return value;
}

void config_show(const struct config_field *f, uint64_t value, char *text, size_t capacity)
{
    const struct technique *t = technique_of(value < UINT_MAX ? (unsigned)value : UINT_MAX);
    if (f->kind == CONFIG_TECHNIQUE)
        snprintf(text, capacity, "%s", t ? t->api_name : "unknown to rank 0");
    else
        snprintf(text, capacity, f->kind == CONFIG_FINGERPRINT ? "%016" PRIx64 : "%" PRIu64, value);
}
