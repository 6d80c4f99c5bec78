/*
 * ssh.h - the words that start this program on another host: ssh, its options, the host, and the
 * command there.
 *
 * Memory    the caller's; `host` is kept by reference
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_RUN_SSH_H
#define LOCUS_RUN_SSH_H

enum { SSH_WORDS_MAX = 64, SSH_TEXT_BYTES = 4096 };

struct ssh_words {
    char ssh[SSH_TEXT_BYTES], command[SSH_TEXT_BYTES];
    char *argv[SSH_WORDS_MAX + 16]; /* NULL at its end */
};

/* `ssh`: ssh and its options, as --ssh has them; `path`: of this program there; `subcommand`: what
 * it is to do, at most 24 characters. 0, or STATUS_USAGE with a sentence. */
int ssh_command(struct ssh_words *, const char *ssh, const char *host, const char *path,
                const char *subcommand);

#endif
