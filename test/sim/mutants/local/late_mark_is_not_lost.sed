# file: src/store/directory.h
# what: who waited for a latch marks the word even when it was released since
# run: local_fibers --seed 8
/^static inline void directory_add_waiter/,/^}/ { /__atomic_compare_exchange_n/N; s/__atomic_compare_exchange_n(.*/__atomic_fetch_or(word, DIRECTORY_WAITERS, __ATOMIC_RELAXED);/ }
