// See time_limit.h.
#include "fs/socket/time_limit.h"

#include "device/clock.h"
#include "task/thread.h"

namespace corral::fs {

Instant deadline_with_limit(Thread& thread, i64 limit) {
  u64& kept = thread.step.word[time_limit_word];
  if (kept == 0) {
    const Instant now = clock::now();
    kept = static_cast<u64>((limit >= never.ns - now.ns ? never : now + Duration{limit}).ns);
  }
  return {static_cast<i64>(kept)};
}

Errno wait_at_socket(WaitQueue& queue, Thread& thread, bool nonblocking, Instant deadline) {
  if (nonblocking) return Errno::eagain;
  if (deadline == never) return queue.wait(thread);
  if (thread.wake_reason() == WakeReason::timed_out) return Errno::eagain;
  const Errno outcome = queue.wait(thread, deadline);
  return outcome == Errno::restart ? Errno::eintr : outcome;
}

}  // namespace corral::fs
