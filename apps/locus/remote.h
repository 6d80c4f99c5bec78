/*
 * remote.h - a doctor's agent (agent.h) on another host: started over ssh, spoken to in lines.
 *
 * Memory    the caller's
 * Waiting   remote_hear to its deadline
 * Life      remote_start, lines, remote_end
 */
#ifndef LOCUS_DOCTOR_REMOTE_H
#define LOCUS_DOCTOR_REMOTE_H

#include "agent.h"
#include "hosts.h"

#include <sys/types.h>

struct remote {
    const struct host *host;
    pid_t pid; /* 0: not started, or reaped */
    int to, from;
    int status; /* of one that has ended: as a shell shows it */
    size_t have;
    char text[2 * AGENT_LINE_MAX];
};

/* 0, or STATUS_* with a sentence. */
int remote_start(struct remote *, const struct host *, const char *ssh, const char *keeper);
void remote_tell(struct remote *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Its next line, without its end. False: it has ended, of which `status` speaks, or it has said
 * nothing for so long, and was killed: status -1. */
bool remote_hear(struct remote *, char line[AGENT_LINE_MAX], double timeout_s);
bool remote_lives(const struct remote *);
void remote_end(struct remote *);

#endif
