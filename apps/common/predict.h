/*
 * predict.h - what the programs have in common that use a saved model: "locus-mf predict MODEL
 * FILE". A program is a struct predict_kind: what it takes of the model, and how it answers a line.
 *
 * A line is cut into fields by tabs; without one, if it is no name as a whole, by commas; without
 * one by blanks. All lines have as many as the first: what a line asks follows from that. Lines of
 * blanks, and comments, are passed over. Answers are lines of fields with tabs between, or JSON; each
 * is printed before the next line is waited for.
 *
 * Callers   predict_run(): training_run(), before there are threads; hooks, on that thread
 * Memory    the mapped model, the line that is answered, and the program's struct
 * Waiting   for the next line. What is malformed ends the program, with file and line
 */
#ifndef APPS_PREDICT_H
#define APPS_PREDICT_H

#include "args.h"
#include "json.h"
#include "saved.h"
#include "top.h"

enum { PREDICT_BEST_MAX = 10000 };

struct predict {
    const struct predict_kind *kind;
    void *program;
    struct saved model;
    struct lines lines; /* the line that is answered */
    const char *path;   /* of the file; "-" is stdin */
    uint64_t best;      /* --best */
    int format;         /* --export: instead of predictions, rows of `tensor` */
    const char *tensor; /* NULL: the first one */
    bool is_json;
    struct field *field;         /* of the line, where the kind wants them */
    size_t fields, fields_first; /* of the first line */
    uint64_t unknown; /* lines with a name that the model does not know: said in the end */
    /* The program's: */
    const struct names *alone[2]; /* a line that is one of these is one field; NULL: none */
    struct top *candidates;       /* the best ones first */
    size_t candidate_count;
    struct json json;
    bool has_begun; /* an answer, which has a field already */
};

struct predict_kind {
    const char *model;        /* its note "model", one of these: "|complex|rescal|" */
    const char *about, *more; /* for --help: what a line is, what an answer is */
    size_t program_bytes;
    size_t fields_max;     /* of a line; 0: the program cuts it */
    bool is_text;          /* a word may begin with #, also the line's first */
    uint64_t best;         /* the default of --best; 0: as the program has it */
    const char *best_help; /* NULL: there is no such option */
    void (*options)(void *program, struct args_list *); /* more of them; NULL: none */
    void (*open)(struct predict *);
    void (*answer)(struct predict *); /* a line */
    void (*all)(struct predict *);    /* instead: reads the file itself */
    void (*close)(struct predict *);
};

/* `program`: "locus-mf". Returns the exit status. */
int predict_run(const char *program, const struct predict_kind *, int argc, char **argv);

/* Answers one line after the other. */
void predict_lines(struct predict *);

/* An answer: names are those of its JSON members. */
void predict_text(struct predict *, const char *name, struct field);
void predict_number(struct predict *, const char *name, double);
/* Several: a list in JSON. */
void predict_numbers(struct predict *, const char *name, const double *, size_t count);
void predict_end(struct predict *);
/* A row's name, or its number, from `first`, which is written there. */
enum { PREDICT_NUMBER_BYTES = 16 };
struct field predict_called(const struct names *, uint32_t number, uint32_t first,
                            char text[PREDICT_NUMBER_BYTES]);
/* An answer with it. */
void predict_name(struct predict *, const char *name, const struct names *, uint32_t number,
                  uint32_t first);

/* The row that a field names, or the number of, from `first`; NAMES_NONE: there is none. */
uint32_t predict_row(const struct names *, uint64_t rows, struct field, uint32_t first);

/* A candidate for `candidates`. */
void predict_offer(struct predict *, uint32_t number, float score);

#endif
