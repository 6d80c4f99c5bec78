/*
 * settings.h - the options that all training programs have.
 *
 * Callers   main(), before args_parse()
 * Memory    texts belong to argv
 * Waiting   never
 */
#ifndef APPS_SETTINGS_H
#define APPS_SETTINGS_H

#include "args.h"
#include "json.h"

#include "locus.h"

struct settings {
    uint64_t workers, seed, epochs;
    int technique; /* enum locus_technique */
    int sampling;  /* enum locus_conformity */
    const char *out;
    bool json, is_baseline;
};

/* Defaults; LOCUS_WORKERS of the environment is the number of workers. */
void settings_init(struct settings *);

enum { SETTINGS_OPTIONS = 8 };
/* Writes SETTINGS_OPTIONS options whose targets are in `s`. */
void settings_options(struct settings *s, struct args_option *options);

const char *settings_technique_name(int technique);
const char *settings_sampling_name(int sampling);

/* A digest for crew_config.fingerprint: of `bytes`, going on from an earlier one. */
uint64_t settings_digest(uint64_t digest, const void *bytes, size_t count);

#endif
