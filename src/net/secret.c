#include "net/secret.h"

#include "base/error.h"
#include "locus.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(SECRET_KEY_BYTES == crypto_generichash_KEYBYTES, "the key fits the code");
_Static_assert(SECRET_PROOF_BYTES == crypto_generichash_BYTES, "so does the proof");

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int new_key(struct secret *s)
{
    if (sodium_init() < 0)
        return error_set(-EIO, "libsodium could not be started, which the cluster's secret needs");
    s->key = sodium_malloc(SECRET_KEY_BYTES);
    return s->key ? 0 : error_set(-ENOMEM, "no memory for the key of the cluster's secret");
}

int secret_from_text(struct secret *s, const char *what, const char *text, size_t bytes)
{
    static const unsigned char context[] = "locus: the key of a cluster, first form";
    *s = (struct secret){0};
    while (bytes > 0 && is_blank(text[bytes - 1])) bytes--;
    for (; bytes > 0 && is_blank(*text); text++) bytes--;
    if (bytes == 0)
        return error_set(
            -EINVAL,
            "%s is empty: must hold the cluster's secret, like what `openssl rand -hex 32` prints",
            what);
    if (bytes > SECRET_TEXT_MAX)
        return error_set(-EINVAL, "%s has %zu bytes: a secret has at most %d", what, bytes,
                         SECRET_TEXT_MAX);
    int rc = new_key(s);
    if (rc) return rc;
    crypto_generichash(s->key, SECRET_KEY_BYTES, (const unsigned char *)text, bytes, context,
                       sizeof context - 1);
    s->is_known = true;
    return 0;
}

/* Bytes read, at most `capacity`; or a negative errno. */
static ssize_t read_all(int fd, char *text, size_t capacity)
{
    size_t have = 0;
    while (have < capacity) {
        ssize_t n = read(fd, text + have, capacity - have);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -errno;
        if (n == 0) break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

static int cannot_read(int rc, const char *path)
{
    return error_set(rc, "LOCUS_SECRET_FILE is \"%.300s\", which cannot be read: %s", path,
                     locus_strerror(rc));
}

static int read_open_file(struct secret *s, const char *path, int fd)
{
    char text[SECRET_TEXT_MAX + 64], what[384];
    struct stat status;
    if (fstat(fd, &status)) return cannot_read(-errno, path);
    if (!S_ISREG(status.st_mode))
        return error_set(-EINVAL, "LOCUS_SECRET_FILE is \"%.300s\", which is no file", path);
    if (status.st_mode & S_IROTH)
        fprintf(
            stderr,
            "locus: everybody on this machine may read the cluster's secret in \"%s\": chmod o= it\n",
            path);
    ssize_t bytes = read_all(fd, text, sizeof text);
    if (bytes < 0) return cannot_read((int)bytes, path);
    snprintf(what, sizeof what, "the file \"%.300s\" of LOCUS_SECRET_FILE", path);
    int rc = secret_from_text(s, what, text, (size_t)bytes);
    sodium_memzero(text, sizeof text);
    return rc;
}

static int read_file(struct secret *s, const char *path)
{
    /* Opening a pipe without a writer would wait otherwise. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return cannot_read(-errno, path);
    int rc = read_open_file(s, path, fd);
    close(fd);
    return rc;
}

/* Of the environment, which children need and a node that is opened again: so it stays. */
static void keep_out_of_dumps(const char *text)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)text & ~(page - 1);
    madvise((char *)text - ((uintptr_t)text - from), (uintptr_t)text + strlen(text) - from,
            MADV_DONTDUMP);
}

int secret_read(struct secret *s)
{
    const char *text = getenv("LOCUS_SECRET"), *path = getenv("LOCUS_SECRET_FILE");
    *s = (struct secret){0};
    if (text && *text && path && *path)
        return error_set(-EINVAL,
                         "LOCUS_SECRET and LOCUS_SECRET_FILE (\"%.300s\") are both set: unset one",
                         path);
    if (path && *path) return read_file(s, path);
    if (!text) return 0;
    keep_out_of_dumps(text);
    return secret_from_text(s, "LOCUS_SECRET", text, strlen(text));
}

int secret_copy(struct secret *to, const struct secret *from)
{
    *to = (struct secret){0};
    if (!from || !from->is_known) return 0;
    int rc = new_key(to);
    if (rc) return rc;
    memcpy(to->key, from->key, SECRET_KEY_BYTES);
    to->is_known = true;
    return 0;
}

void secret_forget(struct secret *s)
{
    sodium_free(s->key); /* wipes it; NULL is allowed */
    *s = (struct secret){0};
}

/* ---- proofs ---------------------------------------------------------------------------------- */

void secret_nonce(unsigned char nonce[SECRET_NONCE_BYTES])
{
    randombytes_buf(nonce, SECRET_NONCE_BYTES);
}

static void put_number(crypto_generichash_state *h, uint64_t value)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(value >> 8 * i);
    crypto_generichash_update(h, bytes, sizeof bytes);
}

/* Every part has a fixed length, except the last, which its length precedes: so no two proofs are of
 * the same bytes. */
static void prove(const struct secret *s, const struct secret_talk *t, enum secret_role role,
                  bool is_ours, const void *body, size_t body_bytes,
                  unsigned char proof[SECRET_PROOF_BYTES])
{
    static const unsigned char label[SECRET_ROLES][24] = {
        [SECRET_MEMBER] = "locus member, 1",
        [SECRET_RENDEZVOUS] = "locus rendezvous, 1",
        [SECRET_CALLER] = "locus caller, 1",
        [SECRET_CALLEE] = "locus callee, 1",
    };
    crypto_generichash_state h;
    INVARIANT(s->is_known, "a proof was asked for without a secret");
    crypto_generichash_init(&h, s->key, SECRET_KEY_BYTES, SECRET_PROOF_BYTES);
    crypto_generichash_update(&h, label[role], sizeof label[role]);
    crypto_generichash_update(&h, is_ours ? t->our_nonce : t->their_nonce, SECRET_NONCE_BYTES);
    crypto_generichash_update(&h, is_ours ? t->their_nonce : t->our_nonce, SECRET_NONCE_BYTES);
    put_number(&h, is_ours ? t->our_rank : t->their_rank);
    put_number(&h, is_ours ? t->their_rank : t->our_rank);
    put_number(&h, t->shard);
    put_number(&h, t->cluster);
    put_number(&h, body_bytes);
    if (body_bytes) crypto_generichash_update(&h, body, body_bytes);
    crypto_generichash_final(&h, proof, SECRET_PROOF_BYTES);
    sodium_memzero(&h, sizeof h);
}

void secret_answer(const struct secret *s, const struct secret_talk *t, enum secret_role role,
                   const void *body, size_t body_bytes, unsigned char proof[SECRET_PROOF_BYTES])
{
    prove(s, t, role, true, body, body_bytes, proof);
}

bool secret_hear(const struct secret *s, const struct secret_talk *t, enum secret_role role,
                 const void *body, size_t body_bytes, const unsigned char proof[SECRET_PROOF_BYTES])
{
    unsigned char right[SECRET_PROOF_BYTES];
    if (!s->is_known) return false;
    prove(s, t, role, false, body, body_bytes, right);
    bool is_right = sodium_memcmp(right, proof, sizeof right) == 0;
    sodium_memzero(right, sizeof right);
    return is_right;
}
