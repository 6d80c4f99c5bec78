/* Arbitrary bytes as a frame, stepped through as the actors do: every value that is handed up must
 * lie in the frame. */
#include "input.h"

#include "net/wire.h"

static volatile float seen;

static void look_at(const struct wire_entry *e)
{
    const float *value = wire_values_const(e);
    for (uint32_t i = 0; i < e->length; i++) seen = value[i];
}

static void step_through(const struct wire_frame *f, const void *body)
{
    const char *why = NULL;
    const struct wire_entry *e;
    uint32_t entries = 0;
    struct wire_cursor c = wire_cursor(f, body);
    while ((e = wire_next(&c, &why))) {
        MUST(e->operation > 0 && e->operation < WIRE_OPERATIONS);
        MUST(++entries <= f->count);
        look_at(e);
    }
    MUST(why || (entries == f->count && c.at == c.end));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = input_of(data, size);
    bool begins_well = input_byte(&in) & 1;
    size = input_left(&in);
    struct wire_frame *f = fuzz_copy(in.at, size);
    if (size >= sizeof *f && begins_well) {
        f->magic = WIRE_MAGIC;
        f->version = WIRE_VERSION;
    }
    if (size >= sizeof *f && !wire_check_frame(f, size - sizeof *f, 0)) {
        void *body = fuzz_copy(in.at + sizeof *f, f->body_bytes);
        if (f->kind == WIRE_ENTRIES) step_through(f, body);
        free(body);
    }
    free(f);
    return 0;
}
