/*
 * parts.h - all parts of a shard, for tests that look inside.
 */
#ifndef LOCUS_TEST_SIM_PARTS_H
#define LOCUS_TEST_SIM_PARTS_H

#include "actors/actor.h"
#include "intents/intents.h"
#include "intents/pacer.h"
#include "protocol/backlog.h"
#include "protocol/origin.h"
#include "protocol/owner.h"
#include "protocol/replica.h"
#include "protocol/round.h"
#include "protocol/woken.h"

#endif
