/*
 * secret.h - the cluster's secret: what all its nodes know and nobody else, and how two of them
 * prove to each other that they do without telling it.
 *
 * Each side sends a random challenge; each answers with a code (BLAKE2b with a key, of libsodium)
 * over its role, both challenges, both ranks and what else identifies the connection. A proof fits
 * no other connection, direction or moment, so that recording or reflecting one is of no use. The
 * side that was connected to gives its proof last, to a peer that has proved itself: an
 * unauthenticated one learns nothing. What follows the proofs is neither encrypted nor protected.
 *
 * Callers   cluster.c reads it; mesh.c, rendezvous.c and admission.c prove and check; locus doctor
 *           compares hosts
 * Memory    the key's, a few pages; secret_forget() wipes it and gives it back
 * Waiting   never, but for the disk that has the file
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

/* What to do, for the end of every sentence about a secret that does not fit. */
#define SECRET_REMEDY "set LOCUS_SECRET to the same on all nodes"

/*
 * From LOCUS_SECRET, or the file that LOCUS_SECRET_FILE names; blanks and newlines around it do not
 * count. Neither: 0, and it is not known. One line on stderr when others may read the file. With
 * the sentence in locus_error():
 *   -EINVAL   both are set, it is empty, too long, or the file is no file
 *   -errno    the file cannot be read
 */
int secret_read(struct secret *);
/* The same from a text. 0, or -EINVAL; `what` is how the sentence calls it. */
int secret_from_text(struct secret *, const char *what, const char *text, size_t bytes);
/* Another copy of the key, to be forgotten by itself. 0 or -ENOMEM with the sentence. NULL: none is
 * known. */
int secret_copy(struct secret *to, const struct secret *from);
/* As soon as no proof will be asked for any more. Again: nothing. */
void secret_forget(struct secret *);

/* Another one each time. */
void secret_nonce(unsigned char nonce[SECRET_NONCE_BYTES]);

enum secret_role {
    SECRET_MEMBER,     /* the one that connects to a rendezvous */
    SECRET_RENDEZVOUS, /* the one that it connects to */
    SECRET_CALLER,     /* of a data connection: the one that made it */
    SECRET_CALLEE,
    SECRET_COMPARED, /* by locus doctor, of which no connection takes a proof */
    SECRET_ROLES,
};

/* What a proof is about. Both sides must describe it alike. */
struct secret_claim {
    enum secret_role role;               /* of who proves */
    unsigned prover, verifier;           /* ranks */
    unsigned shard;                      /* of a data connection */
    uint64_t cluster;                    /* its id; 0 before there is one */
    const unsigned char *prover_nonce;   /* [SECRET_NONCE_BYTES] */
    const unsigned char *verifier_nonce; /* the challenge */
    const void *body;                    /* of the message that the proof vouches for, or NULL */
    size_t body_bytes;
};

/* The secret must be known. */
void secret_prove(const struct secret *, const struct secret_claim *,
                  unsigned char proof[SECRET_PROOF_BYTES]);
/* Takes the same time for every wrong proof. False also when the secret is not known. */
bool secret_check(const struct secret *, const struct secret_claim *,
                  const unsigned char proof[SECRET_PROOF_BYTES]);

#endif
