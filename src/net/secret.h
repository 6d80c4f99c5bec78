/*
 * secret.h - the cluster's secret, which only its nodes know; how two nodes prove to each other
 * that they know it without revealing it; and how many connections may wait for a peer to prove
 * that it belongs here: on data connections (mesh.c) as at the rendezvous (src/cluster).
 *
 * Each side sends a random challenge, and answers the other's with a code (keyed BLAKE2b) over its
 * role, both challenges, both ranks, and whatever else identifies the connection: so recording or
 * reflecting a proof is useless. The side that accepted the connection gives its proof last: who has
 * not proved itself learns nothing. What follows is neither encrypted nor protected.
 *
 * Memory    a few pages for the key; secret_forget() wipes and releases them
 * Waiting   never, except for the disk that has the file
 * Life      secret_read, any number of proofs on any threads, secret_forget
 */
#ifndef LOCUS_NET_SECRET_H
#define LOCUS_NET_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SECRET_KEY_BYTES = 32,
    SECRET_NONCE_BYTES = 32,
    SECRET_PROOF_BYTES = 32,
    SECRET_TEXT_MAX = 4096, /* bytes of the secret itself */
};

struct secret {
    bool is_known; /* false: the cluster has none */
    /* [SECRET_KEY_BYTES] in memory of its own: locked, in no core dump, wiped when forgotten */
    unsigned char *key;
};

/* The remedy, for the end of every sentence about a wrong secret. */
#define SECRET_REMEDY "set LOCUS_SECRET to the same on all nodes"

/* Reads the secret from LOCUS_SECRET, or from the file that LOCUS_SECRET_FILE names, without blanks
 * and newlines around it; if neither is set it is unknown. Warns on stderr if others may read the
 * file. The pages of the environment that have LOCUS_SECRET are in no core dump from then on. 0, or a
 * negative errno with the sentence. */
int secret_read(struct secret *);
/* The same from a text. 0, or -EINVAL; `what` is its name in the sentence. */
int secret_from_text(struct secret *, const char *what, const char *text, size_t bytes);
/* Another copy of the key, to be forgotten separately. 0, or -ENOMEM with the sentence. NULL: no
 * secret is known. */
int secret_copy(struct secret *to, const struct secret *from);
/* To be called as soon as no more proofs are needed. May be called again. */
void secret_forget(struct secret *);

/* A different one each time. */
void secret_nonce(unsigned char nonce[SECRET_NONCE_BYTES]);

enum secret_role {
    SECRET_MEMBER,     /* the one that connects to a rendezvous */
    SECRET_RENDEZVOUS, /* the one that it connects to */
    SECRET_CALLER,     /* of a data connection: the one that made it */
    SECRET_CALLEE,
    SECRET_ROLES,
};

/* What both sides of a connection know when each has sent its challenge, as one of them sees it. */
struct secret_talk {
    unsigned our_rank, their_rank, shard;
    uint64_t cluster; /* its id; 0 before there is one */
    unsigned char our_nonce[SECRET_NONCE_BYTES], their_nonce[SECRET_NONCE_BYTES];
};

/* Our proof in that role. `body`: the message that it covers, or NULL. The secret must be known. */
void secret_answer(const struct secret *, const struct secret_talk *, enum secret_role,
                   const void *body, size_t body_bytes, unsigned char proof[SECRET_PROOF_BYTES]);
/* Is theirs right? Takes the same time for every wrong one. Also false if the secret is unknown. */
bool secret_hear(const struct secret *, const struct secret_talk *, enum secret_role,
                 const void *body, size_t body_bytes,
                 const unsigned char proof[SECRET_PROOF_BYTES]);

/* ---- unauthenticated peers ---- */

/*
 * Connections whose peer has not yet proved to belong here: beside one for each peer that is
 * expected UNAUTHENTICATED_MAX, each for at most PROVING_S. When one more comes, the one goes that
 * has said nothing for longest; if all have answered, the oldest. Who belongs here answers at once,
 * and comes in at one of its attempts, however many others there are.
 *
 * Zeroed; unauthenticated_add for each, the newest first; then unauthenticated_first_to_go.
 */
enum { UNAUTHENTICATED_MAX = 64, PROVING_S = 5 };
#define PROVING_NS (PROVING_S * UINT64_C(1000000000))

struct unauthenticated {
    unsigned count;
    void *first_to_go;
    bool has_answered; /* that one */
};

static inline void unauthenticated_add(struct unauthenticated *s, void *who, bool has_answered)
{
    s->count++;
    if (s->first_to_go && has_answered && !s->has_answered) return;
    s->first_to_go = who;
    s->has_answered = has_answered;
}

/* Who makes room for one more; NULL: nobody need. */
static inline void *unauthenticated_first_to_go(const struct unauthenticated *s, unsigned expected)
{
    return s->count >= UNAUTHENTICATED_MAX + expected ? s->first_to_go : NULL;
}

#endif
