// The signals that wait in a thread or a process: a set of bits, and the information of each in order of arrival.
// Guarded by the process's lock, except that anybody may read the bits. Used by signals.cpp alone.
#pragma once

#include "task/signals.h"

namespace corral::signals {

inline constexpr int first_real_time = 32;  // from here on every sending counts

// Adds it; a standard signal that is pending already is not added twice. It is counted for `user`, the receiver's, whose
// RLIMIT_SIGPENDING is `limit`. eagain: a real-time signal with a value for which there is no room.
Result<void> add_pending(Atomic<SignalSet>& pending, PendingSignals& waiting, const SignalInfo& info, UserAccount& user,
                         u64 limit);
void add_owned(Atomic<SignalSet>& pending, PendingSignals& waiting, PendingSignal& signal);
void drop_pending(Atomic<SignalSet>& pending, PendingSignals& waiting, SignalSet set);
// Takes the oldest one of this number out.
SignalInfo take_number(Atomic<SignalSet>& pending, PendingSignals& waiting, int number);
// Takes the bit of `number` back when no such signal waits any more.
void settle(Atomic<SignalSet>& pending, PendingSignals& waiting, int number);
// The pending signal of `set` that comes first: what the thread caused itself, then by number; 0: none.
[[nodiscard]] int first_of(SignalSet set);

}  // namespace corral::signals
