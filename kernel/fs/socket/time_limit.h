// How long a call may wait at a socket (SO_RCVTIMEO, SO_SNDTIMEO). Source: Linux man-pages socket(7), signal(7).
// Context: a step.
#pragma once

#include "lib/atomic.h"
#include "lib/errno.h"
#include "lib/types.h"
#include "sync/waiter.h"

namespace corral {
class Thread;
}

namespace corral::fs {

// When the call that this step belongs to has waited for as long as the socket lets it, counted from the first run of the call (0: for ever).
// It is kept in the word time_limit_word of the thread's step; who waits for something else after that sets the word to zero.
inline constexpr unsigned time_limit_word = 2;
[[nodiscard]] Instant deadline_with_limit(Thread& thread, i64 limit_ns);
[[nodiscard]] inline Instant deadline_at_socket(Thread& thread, const Atomic<i64>& limit_ns) {
  const i64 limit = limit_ns.load(Order::relaxed);
  return limit == 0 ? never : deadline_with_limit(thread, limit);
}

// Waits in a queue of a socket, whose lock is held. eagain: the call does not wait, or not any more; eintr: a signal came, and a wait with a
// limit is not begun anew, whatever its handler says; blocked, restart.
[[nodiscard]] Errno wait_at_socket(WaitQueue& queue, Thread& thread, bool nonblocking, Instant deadline);

}  // namespace corral::fs
