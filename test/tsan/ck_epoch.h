/*
 * ck_epoch.h - shadows Concurrency Kit's header of this name in builds with ThreadSanitizer.
 *
 * A section's end is inlined and seen; that somebody waited for it happens inside libck and is not.
 * So the order that a grace period gives, everything in a section that has ended comes before what
 * reclamation does, is told here: sections release the epoch when they end, and whoever reclaims
 * acquires it first. Code that uses ck_epoch needs to know nothing of this. A reader that goes on
 * after its section is still found.
 */
#ifndef LOCUS_TSAN_CK_EPOCH_H
#define LOCUS_TSAN_CK_EPOCH_H

#include_next <ck_epoch.h>
#include <sanitizer/tsan_interface.h>

CK_STACK_CONTAINER(struct ck_epoch_entry, stack_entry, tsan_epoch_entry_of)

static inline bool tsan_epoch_end(ck_epoch_record_t *record, ck_epoch_section_t *section)
{
    __tsan_release(record->global);
    return ck_epoch_end(record, section);
}

static inline void tsan_epoch_call_strict(ck_epoch_record_t *record, ck_epoch_entry_t *entry,
                                          ck_epoch_cb_t *function)
{
    __tsan_release(record->global);
    ck_epoch_call_strict(record, entry, function);
}

static inline bool tsan_epoch_poll_deferred(ck_epoch_record_t *record, ck_stack_t *deferred)
{
    bool progress = ck_epoch_poll_deferred(record, deferred);
    __tsan_acquire(record->global);
    return progress;
}

/* ck would call the destructors before the epoch can be acquired: it is asked for them instead. */
static inline bool tsan_epoch_poll(ck_epoch_record_t *record)
{
    ck_stack_t over = CK_STACK_INITIALIZER;
    bool progress = tsan_epoch_poll_deferred(record, &over);
    ck_stack_entry_t *next = CK_STACK_FIRST(&over);
    while (next) {
        struct ck_epoch_entry *entry = tsan_epoch_entry_of(next);
        next = CK_STACK_NEXT(next);
        entry->function(entry);
    }
    return progress;
}

static inline void tsan_epoch_synchronize(ck_epoch_record_t *record)
{
    ck_epoch_synchronize(record);
    __tsan_acquire(record->global);
}

static inline void tsan_epoch_reclaim(ck_epoch_record_t *record)
{
    __tsan_acquire(record->global);
    ck_epoch_reclaim(record);
}

static inline void tsan_epoch_barrier(ck_epoch_record_t *record)
{
    tsan_epoch_synchronize(record);
    ck_epoch_reclaim(record);
}

/* A record passes from thread to thread. */
static inline void tsan_epoch_unregister(ck_epoch_record_t *record)
{
    __tsan_release(record->global);
    ck_epoch_unregister(record);
}

static inline ck_epoch_record_t *tsan_epoch_recycle(ck_epoch_t *epoch, void *context)
{
    ck_epoch_record_t *record = ck_epoch_recycle(epoch, context);
    __tsan_acquire(epoch);
    return record;
}

#define ck_epoch_end tsan_epoch_end
#define ck_epoch_call_strict tsan_epoch_call_strict
#define ck_epoch_poll_deferred tsan_epoch_poll_deferred
#define ck_epoch_poll tsan_epoch_poll
#define ck_epoch_synchronize tsan_epoch_synchronize
#define ck_epoch_reclaim tsan_epoch_reclaim
#define ck_epoch_barrier tsan_epoch_barrier
#define ck_epoch_unregister tsan_epoch_unregister
#define ck_epoch_recycle tsan_epoch_recycle
/* Not told of here, so not to be used by accident. */
#define ck_epoch_synchronize_wait ck_epoch_synchronize_wait_is_not_covered
#define ck_epoch_barrier_wait ck_epoch_barrier_wait_is_not_covered

#endif
