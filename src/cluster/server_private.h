/*
 * server_private.h - rank 0's side of a rendezvous in three parts: server.c hears members and the
 * time, server_barriers.c has those who wait for each other, server_changes.c who is a member.
 *
 * Callers   with the hub's lock
 * Memory    the server's
 * Waiting   never
 * Life      the server's
 */
#ifndef LOCUS_CLUSTER_SERVER_PRIVATE_H
#define LOCUS_CLUSTER_SERVER_PRIVATE_H

#include "cluster/admission.h"
#include "cluster/server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 *   the admission is complete       all leave
 *   -------------------------> RUNNING ----------> LEFT
 *                                 | one is lost
 *                                 v
 *                               LOST
 */
enum state { RUNNING, LOST, LEFT };

struct server {
    struct hub hub; /* its lock is ours */
    struct members members;
    struct acceptor acceptor;
    struct admission admission;
    struct verdict verdict;
    enum state state; /* once the admission is complete */
    unsigned arrived, absent, leaving;
    bool survives, is_open;   /* a barrier was released: the first is that all have opened */
    uint32_t met_view;        /* how many changes of members there were before the last barrier */
    unsigned lost, repairing; /* members */
    unsigned leaver;     /* who leaves by the last change, which is under way; 0: nobody does */
    unsigned joining;    /* who wants to, and is lost as yet; 0: nobody does */
    unsigned connecting; /* who has yet to connect to it, and itself */

    struct reminder barrier, leave;
    unsigned barrier_rank; /* who came first */
    char barrier_name[MEMBERS_BARRIER_BYTES];
    unsigned barrier_flags;
    struct word fault; /* of those that came to another barrier */
    bool goes_on; /* the last barrier was the first of two: nobody comes back before the second */
};

static inline bool is_running(const struct server *s)
{
    return s->admission.state == ADMISSION_COMPLETE && s->state == RUNNING;
}

static inline bool has_arrived(const struct member *m)
{
    return m->has_arrived;
}

/* ---- server_barriers.c ---- */

void server_set_absent(struct server *, struct member *, bool absent);
void server_end_newcomer(struct server *, struct member *);
/* Those who wait in a barrier, if all have come. */
void server_release(struct server *);
/* May it ask to leave now? It leaves with all others; all others do that it has left alone. */
bool server_may_leave(const struct member *);
void server_leaves(struct server *, unsigned rank);
void server_goes_on_without(struct server *);
/* Messages. False: it makes no sense. */
bool server_on_barrier(struct server *, unsigned rank, struct message_reader *);
bool server_on_absent(struct server *, unsigned rank, struct message_reader *);
bool server_on_leave(struct server *, unsigned rank, const struct message_reader *);

/* ---- server_changes.c ---- */

bool server_may_change(const struct server *); /* no change is under way */
/* One that was lost wants to join; does not, because of what `rank` did; does, if it now can. */
void server_begin_joining(struct server *, unsigned rank);
void server_call_off(struct server *, unsigned rank, const char *reason);
void server_complete_joining(struct server *);
void server_lose(struct server *, unsigned rank, const char *reason);
/* The next one that has asked to leave alone, if it now can; and it has. */
void server_let_next_leave(struct server *);
void server_end_leave(struct server *);
bool server_on_connected(struct server *, unsigned rank, struct message_reader *);
bool server_on_go(struct server *, unsigned rank, const struct message_reader *);

#endif
