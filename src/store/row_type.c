#include "store/row_type.h"

#include "base/error.h"

#include <errno.h>
#include <math.h>

const struct row_type *row_type_of(enum locus_optimizer o)
{
    unsigned best = 0;
    if (o == LOCUS_NO_OPTIMIZER || (unsigned)o >= row_types) return NULL;
    while (row_type_variant(best + 1)) best++;
    return &row_type_variant(best)[o];
}

const struct row_type *row_type_for(enum locus_optimizer o, enum locus_element e)
{
    const struct row_type *type = row_type_of(o);
    return type || e == LOCUS_F32 ? type : row_type_of(LOCUS_SGD) - LOCUS_SGD;
}

const char *row_type_element_name(enum locus_element e)
{
    return e == LOCUS_F32 ? "LOCUS_F32" : e == LOCUS_BF16 ? "LOCUS_BF16" : "an unknown element";
}

const char *row_type_name(enum locus_optimizer o)
{
    const struct row_type *type = row_type_of(o);
    if (type) return type->name;
    return o == LOCUS_NO_OPTIMIZER ? "LOCUS_NO_OPTIMIZER" : "an unknown optimizer";
}

/* `below`: what each must stay below. */
static const struct {
    const char *name;
    size_t offset;
    float below;
} constant[ROW_TYPE_CONSTANTS] = {
    {"rate", offsetof(struct locus_rule, rate), INFINITY},
    {"momentum", offsetof(struct locus_rule, momentum), 1},
    {"beta1", offsetof(struct locus_rule, beta1), 1},
    {"beta2", offsetof(struct locus_rule, beta2), 1},
    {"epsilon", offsetof(struct locus_rule, epsilon), INFINITY},
    {"decay", offsetof(struct locus_rule, decay), INFINITY},
};

const char *row_type_constant_name(size_t i)
{
    return constant[i].name;
}

float row_type_constant(const struct locus_rule *r, size_t i)
{
    return *(const float *)(const void *)((const char *)r + constant[i].offset);
}

static void put(struct locus_rule *r, size_t i, float value)
{
    *(float *)(void *)((char *)r + constant[i].offset) = value;
}

struct locus_rule row_type_rule(const struct locus_table *t)
{
    const struct row_type *of = row_type_of(t->optimizer);
    struct locus_rule rule = {0};
    for (size_t i = 0; i < ROW_TYPE_CONSTANTS && of; i++)
        put(&rule, i,
            row_type_constant(&t->rule, i) != 0 ? row_type_constant(&t->rule, i)
                                                : row_type_constant(&of->usual, i));
    return rule;
}

static int check_constant(const struct locus_table *t, size_t table, const struct row_type *of,
                          size_t i)
{
    float value = row_type_constant(&t->rule, i);
    if (value == 0) return 0;
    if (!of || row_type_constant(&of->usual, i) == 0)
        return error_set(-EINVAL, "table %zu has rule.%s %g, which %s does not use: set it to 0",
                         table, constant[i].name, (double)value,
                         of ? of->name : "LOCUS_NO_OPTIMIZER");
    if (value > 0 && value < constant[i].below) return 0;
    return error_set(-EINVAL, "table %zu has rule.%s %g: must be above 0 and %s", table,
                     constant[i].name, (double)value, constant[i].below < 2 ? "below 1" : "finite");
}

int row_type_check(const struct locus_table *t, size_t table)
{
    const struct row_type *of = row_type_of(t->optimizer);
    int rc = 0;
    if (!of && t->optimizer != LOCUS_NO_OPTIMIZER)
        return error_set(-EINVAL, "table %zu has optimizer %d: there is none with that number",
                         table, (int)t->optimizer);
    if (t->element != LOCUS_F32 && t->element != LOCUS_BF16)
        return error_set(-EINVAL, "table %zu has element %d: use LOCUS_F32 or LOCUS_BF16", table,
                         (int)t->element);
    for (size_t i = 0; i < ROW_TYPE_CONSTANTS && rc == 0; i++) rc = check_constant(t, table, of, i);
    if (rc || row_type_delta(of, t->length) <= LOCUS_LENGTH_MAX) return rc;
    return error_set(-EINVAL,
                     "table %zu has rows of %u floats and with %s %llu: must be at most %u in all",
                     table, t->length, of->name, (unsigned long long)row_type_delta(of, t->length),
                     LOCUS_LENGTH_MAX);
}
