// Futexes whose owner inherits the priority of who waits: FUTEX_LOCK_PI and its relatives.
//
// The word holds the owner's thread id and Linux's two bits. Uncontended locks never come here. Those that do go through
// one guarded section (sync/guarded_section.h) for the whole machine: owners, waiters and chains of both are changed by one
// core at a time, in order of arrival, and nobody spins. So a chain is walked as it is, and a circle is found.
//
// A waiter's priority counts for the owner (Thread::inherit_priority), and for the owner of what that one waits for, and so
// on. The owner's home is told by the usual request, so inheritance reaches another core like every other wish.
// Source: Linux futex(2), Documentation/locking/rt-mutex-design.
#pragma once

#include "lib/result.h"
#include "task/futex.h"

namespace corral::futex {

inline constexpr u32 owner_mask = 0x3fff'ffff;   // FUTEX_TID_MASK
inline constexpr u32 owner_died = 0x4000'0000;   // FUTEX_OWNER_DIED
inline constexpr u32 has_waiters = 0x8000'0000;  // FUTEX_WAITERS

// Steps of the calling thread (blocked: run again).
// edeadlk: the caller has it, or waits (through others) for itself; esrch: there is no such owner; etimedout; eagain: try_only
// and somebody has it.
Result<i64> lock_pi(Thread& thread, Word word, Deadline deadline, bool try_only);
// eperm: the caller does not have it.
Result<i64> unlock_pi(Thread& thread, Word word);
// Waits until requeue_pi() moves it to the lock `to`, and then for that. eagain: the word differs.
Result<i64> wait_requeue_pi(Thread& thread, Word from, u32 expected, Word to, Deadline deadline);
// Gives the lock `to` to the first waiter of `from`, or lets it and up to `move` others wait for it. How many that were.
Result<i64> requeue_pi(Thread& thread, Word from, Word to, u32 move, u32 expected);

// The priority of `changed` is another: what it waits for, and whose owner, hears of it. Step of `thread`.
Result<i64> priority_changed(Thread& thread, Thread& changed);
// Part of a thread's end: who waits for its locks gets them, with owner_died. blocked: run again.
Errno release_owned_pi(Thread& thread);

}  // namespace corral::futex
