/*
 * content.h - rows whose values say what was done to them.
 *
 * Every update of a key has a number and a field of its own in the row: two bits of a float that
 * counts exactly to 2^24. Adding the update makes its field 1; adding it twice, 2. The first
 * element names the last set, the last element counts the updates since; both name the key, too. So
 * a row that was read tells exactly which updates it holds, whether one was applied twice, whether
 * it is torn and whether it is another key's; and rows can be added up: owner's row plus updates
 * under way must be all that were made.
 *
 * Values of 16 bits count exactly to 2^8. Of such a narrow row four fields are in a value, and the
 * key is in the exponents: all is 2^key times what it would be.
 *
 * If the table has an optimizer, its step adds the update (exact_steps.h): its gradient is the
 * update, negated. So values are as above. AdaGrad's state is the sum of the squares of the updates
 * since the last set. Momentum and Adam's first moment forget all but 2^-11 of themselves in a step,
 * so they are numbers with 11 bits a digit: digit a is of the step that was made a steps before the
 * last one. Each step has one digit in one element, and one in the last element: so the state tells
 * whether it is that of all these steps in some order, and so do Adam's second moments, by their
 * bounds. What has a momentum puts a little of earlier updates into values, too: they are rounded.
 *
 * Callers   simulation programs
 * Memory    the caller's
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_TEST_CONTENT_H
#define LOCUS_TEST_CONTENT_H

#include "locus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CONTENT_FIELDS = 12, /* a float */
    CONTENT_FIELDS_NARROW = 4,
    CONTENT_UPDATES_MAX = 120,
    CONTENT_KEYS_MAX = 64,
    CONTENT_LENGTH_MIN = 3,
    CONTENT_LENGTH_MAX = 2 + CONTENT_UPDATES_MAX / CONTENT_FIELDS,
    /* the compiler does not know that rows are short, and warns of its copies of 37 floats */
    CONTENT_CAPACITY = 40,
};

struct content {
    unsigned set; /* the last one, 0: none yet */
    uint64_t updates[2];
};

static inline bool content_has(const struct content *c, unsigned update)
{
    return c->updates[update / 64] >> update % 64 & 1;
}

static inline void content_add(struct content *c, unsigned update)
{
    c->updates[update / 64] |= UINT64_C(1) << update % 64;
}

static inline bool content_equals(const struct content *a, const struct content *b)
{
    return a->set == b->set && a->updates[0] == b->updates[0] && a->updates[1] == b->updates[1];
}

/* The row of a key: where its fields are. */
struct content_layout {
    uint32_t length;
    unsigned key;
    enum locus_optimizer optimizer; /* arrays of `length` floats lie behind the values */
    bool is_bf16;
};

static inline bool content_decays(struct content_layout l)
{
    return l.optimizer == LOCUS_MOMENTUM || l.optimizer >= LOCUS_ADAM;
}

static inline bool content_is_narrow(struct content_layout l)
{
    return l.is_bf16 || content_decays(l);
}

/* Of a row with its state; a delta has one more, the count of its steps. */
static inline uint32_t content_floats(struct content_layout l)
{
    unsigned arrays = l.optimizer >= LOCUS_ADAM ? 2 : l.optimizer != LOCUS_NO_OPTIMIZER;
    return l.length * (1 + arrays);
}

static inline unsigned content_fields(struct content_layout l)
{
    return content_is_narrow(l) ? CONTENT_FIELDS_NARROW : CONTENT_FIELDS;
}

/* Updates that such a row has fields for. */
static inline unsigned content_capacity(struct content_layout l)
{
    return (l.length - 2) * content_fields(l);
}

void content_write_update(float *row, struct content_layout, unsigned update);
void content_write_set(float *row, struct content_layout, unsigned set);
/* Of the table of such a row. */
struct locus_rule content_rule(enum locus_optimizer);
/* The delta of one step with a gradient, or, without an optimizer, of an update. */
void content_write_record(float *delta, struct content_layout, const float *pushed);
/* A row takes the steps of a delta; or, if not `is_row`, another delta does. */
void content_merge(float *to, struct content_layout, const float *delta, bool is_row);
/* NULL, or what is wrong with the row; of its state content_check_state() tells that. */
const char *content_read(const float *row, struct content_layout, struct content *);
const char *content_check_state(const float *row, struct content_layout, const struct content *);
/* Is that what is wrong: a row half written? */
bool content_is_torn(const char *wrong);
/* "set 2 + 1 5 9"; returns `text`. */
const char *content_text(const struct content *, char *text, size_t bytes);

#endif
