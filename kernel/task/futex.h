// Futexes: threads wait while a word of user memory has a value, others wake them.
//
// Every hash bucket is a guarded section (sync/guarded_section.h): waiting, waking, moving and cancelling are requests that
// are chained in with one atomic operation and executed by whichever core is inside; nobody spins. A request that another
// core executes ends by waking its thread, which finds the result when its step runs again.
//
// Lost wake-ups: the word is compared inside the section, where wake requests of the same word are executed too. So a wake
// that comes after the word was changed either finds the waiter in the bucket or the waiter finds the changed word.
// Source: Linux futex(2).
#pragma once

#include "lib/result.h"
#include "task/thread.h"

namespace corral::futex {

inline constexpr u32 match_any = 0xffff'ffff;  // FUTEX_BITSET_MATCH_ANY

struct Word {
  VirtualAddress address;
  bool shared = false;  // between processes: without FUTEX_PRIVATE_FLAG
};

// einval: not aligned; efault.
Result<Key> key_of(Thread& thread, Word word);

// Steps of the calling thread (blocked: run again). Addresses must be 4-byte aligned: einval.
// eagain: the word differs; etimedout; eintr as restart.
Result<i64> wait(Thread& thread, Word word, u32 expected, u32 bits, Deadline deadline);
// How many were woken.
Result<i64> wake(Thread& thread, Word word, u32 count, u32 bits);
// The same for a word whose key is known. Uses thread.step.phase only.
Result<i64> wake_known(Thread& thread, const Key& key, u32 count);
// Wakes `count` waiters of `from` and moves up to `move` others to `to`. With `compare` (not null): eagain unless the word
// still has that value. How many were woken and moved.
Result<i64> requeue(Thread& thread, Word from, Word to, u32 count, u32 move, const u32* compare);

// Changes the word `second` by the operation that `encoded` says (FUTEX_OP), wakes `count` waiters of `word`, and `more` of
// `second` when what was there compares as it says. enosys: no such operation or comparison.
Result<i64> wake_op(Thread& thread, Word word, Word second, u32 count, u32 more, u32 encoded);

// ---- for futex_vector.cpp: entries of a wait on several words. Either is over when cancel_pending is false. ----
// Lines the entry up, or says in `outcome` why not: differs; again. einval, efault, blocked: nothing has begun.
[[gnu::cold]] Result<void> enlist_entry(Operation& entry, Word word, u32 expected);
// Takes out an entry that has been lined up, wherever it is now; nothing, if it has been woken.
[[gnu::cold]] void withdraw_entry(Operation& entry);

// Part of a thread's end: wakes waiters of a word that processes may share. Uses thread.step; blocked: run again.
Result<void> wake_plainly(Thread& thread, VirtualAddress address, u32 count);

}  // namespace corral::futex
