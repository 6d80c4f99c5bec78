/* Where a cluster's secret comes from, and what a proof of it is good for. */
#include "net/secret.h"

#include "locus.h"
#include "net/loopback.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 128, NOBODY = 65534 };

/* ---- where it comes from ---- */

static void environment_is(const char *text, const char *path)
{
    unsetenv("LOCUS_SECRET");
    unsetenv("LOCUS_SECRET_FILE");
    if (text) CHECK_EQ(setenv("LOCUS_SECRET", text, 1), 0);
    if (path) CHECK_EQ(setenv("LOCUS_SECRET_FILE", path, 1), 0);
}

/* A file of its own for the test's process, which removes it. */
static const char *new_file(const char *text, size_t bytes, mode_t mode)
{
    static char path[PATH_BYTES];
    snprintf(path, sizeof path, "/tmp/locus-secret-XXXXXX");
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, text, bytes), bytes);
    CHECK_EQ(fchmod(fd, mode), 0);
    close(fd);
    return path;
}

static void reads_as(const char *text)
{
    struct secret s, wanted = secret_of(text);
    int rc = secret_read(&s);
    if (rc) test_fail(__FILE__, __LINE__, "%s", locus_error());
    CHECK(s.is_known);
    CHECK(memcmp(s.key, wanted.key, SECRET_KEY_BYTES) == 0);
    secret_forget(&s);
    CHECK(!s.is_known);
}

static void is_refused(int rc, const char *sentence)
{
    struct secret s;
    CHECK_EQ(secret_read(&s), rc);
    CHECK_STR(locus_error(), sentence);
    CHECK(!s.is_known);
}

TEST(secret, read_takes_either_variable)
{
    struct secret s;
    environment_is(NULL, NULL);
    CHECK_EQ(secret_read(&s), 0);
    CHECK(!s.is_known);
    environment_is("open sesame", NULL);
    reads_as("open sesame");
    environment_is("  open sesame\r\n", NULL);
    reads_as("open sesame");
    const char *path = new_file(" open sesame\n\n", 14, 0600);
    environment_is(NULL, path);
    reads_as("open sesame");
    environment_is("", path); /* set to nothing */
    reads_as("open sesame");
    environment_is("open sesame", "");
    reads_as("open sesame");
    unlink(path);
    struct secret other = secret_of("open sesame!");
    CHECK(memcmp(secret_of("open sesame").key, other.key, SECRET_KEY_BYTES) != 0);
}

/* "dd" in the flags of the mapping that has `at`: do not dump. */
static bool is_dumped(const char *at)
{
    char line[512];
    unsigned long from, to;
    bool is_here = false, is_excluded = false;
    FILE *maps = fopen("/proc/self/smaps", "re");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            is_here = (unsigned long)(uintptr_t)at >= from && (unsigned long)(uintptr_t)at < to;
        if (is_here && strncmp(line, "VmFlags:", 8) == 0) is_excluded = strstr(line, " dd") != NULL;
    }
    fclose(maps);
    return !is_excluded;
}

TEST(secret, read_keeps_the_environment_out_of_core_dumps)
{
    struct secret s;
    static char text[] = "LOCUS_SECRET=open sesame"; /* as the system put it: it is not copied */
    unsetenv("LOCUS_SECRET_FILE");
    CHECK_EQ(putenv(text), 0);
    CHECK(is_dumped(text));
    CHECK_EQ(secret_read(&s), 0);
    CHECK(!is_dumped(text) && !is_dumped(text + sizeof text - 2));
    CHECK_STR(getenv("LOCUS_SECRET"), "open sesame"); /* for children, and to open again */
    secret_forget(&s);
    unsetenv("LOCUS_SECRET");
}

TEST(secret, read_refuses_what_is_no_secret)
{
    static char long_text[SECRET_TEXT_MAX + 2];
    memset(long_text, 'x', sizeof long_text - 1);
    const struct {
        const char *text, *path, *content; /* of a file */
        int rc;
        const char *sentence;
    } cases[] = {
        {"", NULL, NULL, -EINVAL,
         "LOCUS_SECRET is empty: must hold the cluster's secret, like what `openssl rand -hex 32`"},
        {" \n", NULL, NULL, -EINVAL, "LOCUS_SECRET is empty"},
        {long_text, NULL, NULL, -EINVAL, "LOCUS_SECRET has 4097 bytes: a secret has at most 4096"},
        {"text", "/file", NULL, -EINVAL,
         "LOCUS_SECRET and LOCUS_SECRET_FILE (\"/file\") are both set: unset one"},
        {NULL, "/no/such/file", NULL, -ENOENT,
         "LOCUS_SECRET_FILE is \"/no/such/file\", which cannot be read: No such file or directory"},
        {NULL, "/dev/null", NULL, -EINVAL, "LOCUS_SECRET_FILE is \"/dev/null\", which is no file"},
        {NULL, "/", NULL, -EINVAL, "LOCUS_SECRET_FILE is \"/\", which is no file"},
        {NULL, NULL, "\n", -EINVAL, "\" of LOCUS_SECRET_FILE is empty"},
        {NULL, NULL, long_text, -EINVAL, "of LOCUS_SECRET_FILE has 4097 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *content = cases[i].content,
                   *file = content ? new_file(content, strlen(content), 0600) : NULL;
        environment_is(cases[i].text, content ? file : cases[i].path);
        is_refused(cases[i].rc, cases[i].sentence);
        if (content) CHECK_STR(locus_error(), file);
        if (content) unlink(file);
    }
}

TEST(secret, read_refuses_a_file_without_permission)
{
    const char *path = new_file("text", 4, 0);
    environment_is(NULL, path);
    bool is_root = geteuid() == 0 && seteuid(NOBODY) == 0;
    int fd = open(path, O_RDONLY);
    if (fd < 0) is_refused(-EACCES, "which cannot be read: Permission denied");
    if (is_root) CHECK_EQ(seteuid(0), 0);
    unlink(path);
    if (fd >= 0) SKIP("this user may read everything");
}

TEST(secret, read_tells_of_a_file_that_everybody_may_read)
{
    for (int is_open = 0; is_open < 2; is_open++) {
        struct secret s;
        char text[512];
        const char *path = new_file("text", 4, is_open ? 0644 : 0640);
        environment_is(NULL, path);
        struct caught caught = stderr_catch();
        CHECK_EQ(secret_read(&s), 0);
        stderr_release(&caught, text, sizeof text);
        CHECK_STR(text, is_open ? "locus: everybody on this machine may read the cluster's secret "
                                  "in \"/tmp/locus-secret-"
                                : "");
        CHECK_EQ(strstr(text, "chmod o= it\n") != NULL, is_open);
        unlink(path);
    }
}

/* ---- proofs ---- */

/* What the verifier of a proof takes it for. */
struct claim {
    struct secret_talk talk;
    enum secret_role role;
    size_t body_bytes;
};

/* A proof of one who knows the secret. */
struct talk {
    struct secret secret;
    unsigned char body[40], proof[SECRET_PROOF_BYTES];
    struct claim claim;
};

static bool fits(const struct talk *t, const struct secret *s, const struct claim *c)
{
    return secret_hear(s, &c->talk, c->role, t->body, c->body_bytes, t->proof);
}

static void talk_begin(struct talk *t)
{
    *t = (struct talk){.secret = secret_of("open sesame")};
    struct secret_talk said = {
        .our_rank = 3, .their_rank = 1, .shard = 2, .cluster = UINT64_C(0x1234567890abcdef)};
    secret_nonce(said.our_nonce);
    secret_nonce(said.their_nonce);
    memset(t->body, 7, sizeof t->body);
    secret_answer(&t->secret, &said, SECRET_CALLER, t->body, sizeof t->body, t->proof);
    t->claim = (struct claim){said, SECRET_CALLER, sizeof t->body};
    t->claim.talk.our_rank = 1;
    t->claim.talk.their_rank = 3;
    memcpy(t->claim.talk.our_nonce, said.their_nonce, sizeof said.their_nonce);
    memcpy(t->claim.talk.their_nonce, said.our_nonce, sizeof said.our_nonce);
}

static void talk_end(struct talk *t)
{
    secret_forget(&t->secret);
}

TEST_WITH(secret, proof_is_good_for_its_secret_alone, talk, t)
{
    struct secret same = secret_of("open sesame\n"), other = secret_of("open barley"), none = {0};
    CHECK(fits(t, &same, &t->claim));
    CHECK(!fits(t, &other, &t->claim));
    CHECK(!fits(t, &none, &t->claim));
    for (unsigned i = 0; i < sizeof t->proof; i++) {
        t->proof[i] ^= 1;
        CHECK(!fits(t, &t->secret, &t->claim));
        t->proof[i] ^= 1;
    }
    CHECK(fits(t, &t->secret, &t->claim));
}

TEST_WITH(secret, proof_is_good_for_its_claim_alone, talk, t)
{
    enum { CLAIMS = 12 };
    struct claim other[CLAIMS];
    for (int i = 0; i < CLAIMS; i++) other[i] = t->claim;
    other[0].role = SECRET_CALLEE;
    other[1].role = SECRET_MEMBER;
    other[2].talk.their_rank = 4;
    other[3].talk.our_rank = 0;
    other[4].talk.shard = 0;
    other[5].talk.cluster++;
    other[6].talk.their_nonce[5]++;
    other[7].talk.our_nonce[5]++; /* recorded, and played back later */
    other[8].body_bytes--;
    other[9].body_bytes = 0;
    /* Sent back to who made it: ranks and nonces change places. */
    other[10].role = SECRET_CALLEE;
    memcpy(other[10].talk.our_nonce, t->claim.talk.their_nonce, SECRET_NONCE_BYTES);
    memcpy(other[10].talk.their_nonce, t->claim.talk.our_nonce, SECRET_NONCE_BYTES);
    for (int i = 10; i < CLAIMS; i++) other[i].talk.our_rank = 3, other[i].talk.their_rank = 1;
    for (int i = 0; i < CLAIMS; i++)
        if (fits(t, &t->secret, &other[i]))
            test_fail(__FILE__, __LINE__, "the proof also fits claim %d", i);
    t->body[39]++;
    CHECK(!fits(t, &t->secret, &t->claim));
}

TEST(secret, nonces_differ)
{
    enum { NONCES = 64 };
    unsigned char nonce[NONCES][SECRET_NONCE_BYTES];
    secret_of("started");
    for (int i = 0; i < NONCES; i++) {
        secret_nonce(nonce[i]);
        for (int k = 0; k < i; k++) CHECK(memcmp(nonce[i], nonce[k], sizeof nonce[i]) != 0);
    }
}
