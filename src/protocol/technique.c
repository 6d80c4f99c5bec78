#include "protocol/technique.h"

static const struct technique techniques[] = {
    [LOCUS_ADAPTIVE] = {.name = "adaptive",
                        .api_name = "LOCUS_ADAPTIVE",
                        .moves = true,
                        .heeds_intents = true,
                        .localizes = true,
                        .replicates = true,
                        .moves_to_only_one = true},
    [LOCUS_STATIC] = {.name = "static", .api_name = "LOCUS_STATIC"},
    [LOCUS_RELOCATE] = {.name = "relocate",
                        .api_name = "LOCUS_RELOCATE",
                        .moves = true,
                        .heeds_intents = true,
                        .localizes = true,
                        .rows_follow = true},
    [LOCUS_REPLICATE] = {.name = "replicate",
                         .api_name = "LOCUS_REPLICATE",
                         .moves = true,
                         .heeds_intents = true,
                         .replicates = true},
    [LOCUS_FULL_REPLICATION] = {.name = "full_replication",
                                .api_name = "LOCUS_FULL_REPLICATION",
                                .moves = true,
                                .every_node_holds = true,
                                .replicates = true},
};

const struct technique *technique_of(unsigned number)
{
    return number < sizeof techniques / sizeof *techniques ? &techniques[number] : NULL;
}
