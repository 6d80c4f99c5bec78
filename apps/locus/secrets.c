#include "secrets.h"

#include "locus.h"
#include "net/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEX_BYTES = 2 * SECRET_NONCE_BYTES + 1, PATH_BYTES = 1024 };
_Static_assert(SECRET_PROOF_BYTES == SECRET_NONCE_BYTES, "one size of text for both");

/* Of somebody: what came of reading his secret. */
struct answer {
    enum { HAS_ANSWERED_NOTHING, HAS_PROOF, HAS_NONE, HAS_FAILED } kind;
    char text[AGENT_LINE_MAX]; /* the proof, or the sentence */
};

static void write_hex(char to[HEX_BYTES], const unsigned char *bytes)
{
    for (unsigned i = 0; i < SECRET_NONCE_BYTES; i++) snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

static bool read_hex(const char *text, unsigned char *bytes)
{
    bool is_hex = strspn(text, "0123456789abcdef") == HEX_BYTES - 1 && !text[HEX_BYTES - 1];
    for (unsigned i = 0; is_hex && i < SECRET_NONCE_BYTES; i++)
        is_hex = sscanf(text + 2 * i, "%2hhx", &bytes[i]) == 1;
    return is_hex;
}

/* ---- who proves ---- */

static void prove(const unsigned char challenge[SECRET_NONCE_BYTES], struct answer *a)
{
    struct secret s;
    unsigned char proof[SECRET_PROOF_BYTES];
    const struct secret_claim claim = {
        .role = SECRET_COMPARED, .prover_nonce = challenge, .verifier_nonce = challenge};
    a->kind = secret_read(&s) ? HAS_FAILED : s.is_known ? HAS_PROOF : HAS_NONE;
    if (a->kind == HAS_FAILED) snprintf(a->text, sizeof a->text, "%s", locus_error());
    if (a->kind == HAS_PROOF) {
        secret_prove(&s, &claim, proof);
        write_hex(a->text, proof);
    }
    secret_forget(&s);
}

bool secrets_tell(const char *line)
{
    char hex[HEX_BYTES], path[PATH_BYTES];
    unsigned char challenge[SECRET_NONCE_BYTES];
    struct answer a;
    if (sscanf(line, "secret %64s %1023[^\n]", hex, path) != 2 || !read_hex(hex, challenge))
        return false;
    if (strcmp(path, "-") != 0) setenv("LOCUS_SECRET_FILE", path, 1);
    prove(challenge, &a);
    if (a.kind == HAS_NONE)
        puts("none");
    else
        printf("%s %s\n", a.kind == HAS_PROOF ? "proof" : "error", a.text);
    return true;
}

/* ---- who compares ---- */

static void ask(struct remote *r, const char *hex, const char *path, struct answer *a)
{
    char line[AGENT_LINE_MAX];
    *a = (struct answer){0};
    remote_tell(r, "secret %s %s\n", hex, path);
    if (!remote_hear(r, line, SECRETS_TIMEOUT_S)) return;
    a->kind = strncmp(line, "proof ", 6) == 0   ? HAS_PROOF
              : strcmp(line, "none") == 0       ? HAS_NONE
              : strncmp(line, "error ", 6) == 0 ? HAS_FAILED
                                                : HAS_ANSWERED_NOTHING;
    if (a->kind == HAS_PROOF || a->kind == HAS_FAILED)
        snprintf(a->text, sizeof a->text, "%s", line + 6);
}

/* Whose secret the others are held against. */
struct pattern {
    const char *whose; /* NULL: nobody has had one so far */
    bool is_taken_along;
    char proof[AGENT_LINE_MAX];
};

static void compare(struct findings *all, const struct answer *a, struct pattern *p)
{
    const char *remedy = SECRET_REMEDY;
    if (a->kind == HAS_ANSWERED_NOTHING)
        find(all, FIND_SKIP, "secret", "it did not answer");
    else if (a->kind == HAS_FAILED)
        find(all, FIND_FAIL, "secret", "%s", a->text);
    else if (a->kind == HAS_PROOF && !p->whose)
        find(all, FIND_OK, "secret", "there is one");
    else if (a->kind == HAS_PROOF && strcmp(a->text, p->proof) == 0)
        find(all, FIND_OK, "secret", "the same as %s", p->whose);
    else if (a->kind == HAS_PROOF && p->is_taken_along)
        find(all, FIND_WARN, "secret",
             "another one than %s: locus run takes ours along, but who starts nodes otherwise: %s",
             p->whose, remedy);
    else if (a->kind == HAS_PROOF)
        find(all, FIND_FAIL, "secret", "another one than %s: %s", p->whose, remedy);
    else if (p->is_taken_along)
        find(all, FIND_OK, "secret", "none of its own: locus run takes ours along");
    else if (p->whose)
        find(all, FIND_FAIL, "secret", "there is none, and there is one %s: %s", p->whose, remedy);
    else
        find(all, FIND_OK, "secret", "none: locus run makes one for each run");
}

/* False: it cannot be used, which has been said. */
static bool read_ours(struct findings *all, const unsigned char *challenge, struct pattern *p)
{
    const char *text = getenv("LOCUS_SECRET");
    struct answer ours;
    prove(challenge, &ours);
    if (ours.kind == HAS_FAILED) find(all, FIND_FAIL, "secret", "%s", ours.text);
    if (ours.kind != HAS_PROOF) return ours.kind == HAS_NONE;
    p->whose = "here";
    p->is_taken_along = text && *text;
    snprintf(p->proof, sizeof p->proof, "%s", ours.text);
    return true;
}

void secrets_check(struct findings *all, struct remote *r, size_t count)
{
    const char *path = getenv("LOCUS_SECRET_FILE");
    unsigned char challenge[SECRET_NONCE_BYTES];
    char hex[HEX_BYTES], whose[HOST_NAME_BYTES + 8];
    struct pattern p = {0};
    struct answer a;
    secret_nonce(challenge);
    write_hex(hex, challenge);
    if (!read_ours(all, challenge, &p)) return;
    if (path && (strlen(path) >= PATH_BYTES || strchr(path, '\n'))) path = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!remote_lives(&r[i])) continue;
        ask(&r[i], hex, path && *path ? path : "-", &a);
        all->host = r[i].host->name;
        compare(all, &a, &p);
        all->host = NULL;
        if (a.kind != HAS_PROOF || p.whose) continue;
        snprintf(whose, sizeof whose, "on %s", r[i].host->name);
        snprintf(p.proof, sizeof p.proof, "%s", a.text);
        p.whose = whose;
    }
}
