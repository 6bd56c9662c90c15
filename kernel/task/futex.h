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

// Steps of the calling thread (blocked: run again). Addresses must be 4-byte aligned: einval.
// eagain: the word differs; etimedout; eintr as restart.
Result<i64> wait(Thread& thread, Word word, u32 expected, u32 bits, Instant deadline);
// How many were woken.
Result<i64> wake(Thread& thread, Word word, u32 count, u32 bits);
// Wakes `count` waiters of `from` and moves up to `move` others to `to`. With `compare` (not null): eagain unless the word
// still has that value. How many were woken and moved.
Result<i64> requeue(Thread& thread, Word from, Word to, u32 count, u32 move, const u32* compare);

// Part of a thread's end: wakes waiters of a word that processes may share. Uses thread.step; blocked: run again.
Result<void> wake_plainly(Thread& thread, VirtualAddress address, u32 count);

}  // namespace corral::futex
