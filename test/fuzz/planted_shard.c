/* shard.c with a fault where only a request and the right answers to all its items lead: its seeds,
 * those of shard.c, reach that far. */
#define CHECK_COMPLETED(r, rc) MUST((rc) != 0 || (r)->kind != REQUEST_PULL || (r)->count < 2)
#include "shard.c" /* NOLINT(bugprone-suspicious-include) */
