/* A reader of frames that forgets to compare an entry's length with what is left: a fuzzer must
 * find it. */
#include "input.h"

#include "net/wire.h"

static volatile float seen;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_frame *f = fuzz_copy(data, size);
    if (size >= sizeof *f + sizeof(struct wire_entry) && f->magic == WIRE_MAGIC &&
        f->kind == WIRE_ENTRIES) {
        const struct wire_entry *e = (const void *)(f + 1);
        if (e->operation == WIRE_PUSH && e->length < 1000)
            for (uint32_t i = 0; i < e->length; i++) seen = wire_values_const(e)[i];
    }
    free(f);
    return 0;
}
