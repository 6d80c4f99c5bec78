#include "made_up.h"

#include "fail.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

void made_up_check(const char *option, const char *text, const struct made_up_size *s)
{
    if (s->is < s->least || s->is > s->most)
        fail_usage("%s %s: %s must be from %" PRIu64 " to %" PRIu64, option, text, s->name,
                   s->least, s->most);
}

void made_up_sizes(const char *option, const char *text, const char *form, struct made_up_size *s,
                   size_t n)
{
    char *end = NULL;
    const char *at = text;
    for (size_t i = 0; i < n; i++, at = end + 1) {
        if (isdigit((unsigned char)*at)) s[i].is = strtoull(at, &end, 10);
        if (!end || end == at || *end != (i + 1 < n ? 'x' : '\0'))
            fail_usage("%s takes %s, not \"%s\"", option, form, text);
    }
    for (size_t i = 0; i < n; i++) made_up_check(option, text, &s[i]);
}

uint32_t made_up_rank(struct rng *rng, uint32_t count, double exponent)
{
    double x = rng_real(rng), most = count + 1.0, power = 1 - exponent;
    double rank = fabs(power) < 1e-9 ? pow(most, x) - 1
                                     : pow(1 + x * (pow(most, power) - 1), 1 / power) - 1;
    return rank < count ? (uint32_t)rank : count - 1;
}

void made_up_seen_init(struct made_up_seen *s, uint64_t most)
{
    for (s->slots = 8; s->slots < 2 * most;) s->slots *= 2;
    s->numbers = take_memory(s->slots, sizeof *s->numbers);
}

void made_up_seen_fini(struct made_up_seen *s)
{
    free(s->numbers);
}

bool made_up_is_new(struct made_up_seen *s, uint64_t number)
{
    uint64_t slot = rng_mix(number) & (s->slots - 1);
    for (; s->numbers[slot]; slot = (slot + 1) & (s->slots - 1))
        if (s->numbers[slot] == number + 1) return false;
    s->numbers[slot] = number + 1;
    return true;
}
