/* Bodies of messages of the rendezvous as their readers take them, and a hello compared with
 * ours. */
#include "input.h"

#include "membership/hello.h"

static const struct locus_table tables[] = {
    {.name = "entities", .rows = 1000, .length = 8},
    {.name = "relations", .rows = 10, .length = 16},
};

static struct message *our_hello(struct input *in)
{
    const struct rendezvous_config c = {.node = {.rank = 1,
                                                 .size = 3,
                                                 .tables = tables,
                                                 .table_count = 1 + input_below(in, 2),
                                                 .technique = LOCUS_STATIC,
                                                 .workers = 1,
                                                 .join_timeout_s = 60,
                                                 .peer_timeout_s = 10},
                                        .data_address = "127.0.0.1:4711"};
    return hello_write(&c, 60000);
}

/* Ours with some bytes replaced: chance alone would hardly ever come through. */
static void change(struct input *in, struct message *m)
{
    for (unsigned n = input_below(in, 8); n > 0; n--) {
        size_t at = input_number(in, 2) % m->bytes;
        m->data[at] = input_byte(in);
    }
}

static void read_hello(const unsigned char *body, size_t bytes, const struct hello *ours)
{
    struct hello h;
    char sentence[MESSAGE_TEXT_MAX];
    hello_read_rank(&h, body, bytes);
    if (!hello_read(&h, body, bytes)) return;
    MUST(h.rank < h.size && strlen(h.address) < sizeof h.address);
    if (hello_differs(&h, ours, 1, sentence, sizeof sentence))
        MUST(strlen(sentence) < sizeof sentence);
}

static void read_values(struct input *in, const unsigned char *body, size_t bytes)
{
    char text[40];
    struct message_reader r = message_reader(body, bytes);
    for (unsigned n = input_below(in, 16); n > 0; n--) {
        switch (input_below(in, 3)) {
        case 0: message_get_u32(&r); break;
        case 1: message_get_u64(&r); break;
        default:
            message_get_text(&r, text, 1 + input_below(in, sizeof text));
            MUST(strlen(text) < sizeof text);
        }
    }
    if (message_read_all(&r)) MUST(r.at == r.end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = input_of(data, size);
    struct hello ours;
    struct message *m = our_hello(&in);
    MUST(m && hello_read(&ours, m->data + MESSAGE_HEADER_BYTES, m->bytes - MESSAGE_HEADER_BYTES));

    struct message *theirs = our_hello(&in);
    change(&in, theirs);
    size_t bytes = theirs->bytes - MESSAGE_HEADER_BYTES;
    if (input_rarely(&in, 4)) bytes = input_number(&in, 2) % (bytes + 1);
    unsigned char *body = fuzz_copy(theirs->data + MESSAGE_HEADER_BYTES, bytes);
    read_hello(body, bytes, &ours);
    free(body);

    body = fuzz_copy(in.at, input_left(&in));
    read_hello(body, input_left(&in), &ours);
    read_values(&(struct input){data, data + size}, body, input_left(&in));
    free(body);
    message_let_go(theirs);
    message_let_go(m);
    return 0;
}
