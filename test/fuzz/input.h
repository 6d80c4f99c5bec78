/*
 * input.h - what every fuzzer includes: the bytes that libFuzzer gives, taken as numbers, and what
 * must hold.
 *
 * A fuzzer is a program that libFuzzer calls with ever more bytes, guided by which of them reach
 * new code. Wherever a format has checks that chance does not pass, the fuzzer makes most of a
 * message from the bytes instead of taking them for the message.
 *
 * Callers   the fuzzers
 * Memory    fuzz_copy and fuzz_scratch: malloc, of exactly that size, so that AddressSanitizer sees
 *           the first byte beyond
 * Waiting   never
 * Life      one call of LLVMFuzzerTestOneInput
 */
#ifndef LOCUS_FUZZ_INPUT_H
#define LOCUS_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: MUST(%s)\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

struct input {
    const uint8_t *at, *end;
};

static inline struct input input_of(const uint8_t *data, size_t size)
{
    return (struct input){data, data + size};
}

static inline size_t input_left(const struct input *in)
{
    return (size_t)(in->end - in->at);
}

/* Little-endian; past the end everything is 0. */
static inline uint64_t input_number(struct input *in, unsigned bytes)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < bytes && in->at < in->end; i++) n |= (uint64_t)*in->at++ << 8 * i;
    return n;
}

static inline uint8_t input_byte(struct input *in)
{
    return (uint8_t)input_number(in, 1);
}

/* Below a bound of at most 256. */
static inline unsigned input_below(struct input *in, unsigned bound)
{
    return input_byte(in) % bound;
}

/* Once in so many times. */
static inline bool input_rarely(struct input *in, unsigned times)
{
    return input_byte(in) % times == 1;
}

/* As many bytes as there are, at most `max`; returns where they lie. */
static inline const uint8_t *input_bytes(struct input *in, size_t max, size_t *count)
{
    const uint8_t *at = in->at;
    *count = input_left(in) < max ? input_left(in) : max;
    in->at += *count;
    return at;
}

/* All that is left, as a text; the caller frees it. */
static inline char *input_text(struct input *in, size_t max)
{
    size_t n;
    const uint8_t *at = input_bytes(in, max, &n);
    char *text = malloc(n + 1);
    MUST(text);
    if (n > 0) memcpy(text, at, n);
    text[n] = '\0';
    return text;
}

static inline void *fuzz_scratch(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    MUST(p);
    return p;
}

static inline void *fuzz_copy(const void *from, size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    MUST(p);
    if (bytes > 0) memcpy(p, from, bytes);
    return p;
}

#endif
