// Waiting without spinning: Waiter is something that can wait (a Thread), WaitQueue is what it waits on.
//
// A system call is a step that runs to completion (architecture, idea 4). A step that cannot go on enlists its
// waiter somewhere and returns Errno::blocked; nothing of it stays on a kernel stack. After the wake-up the same
// step runs again from its beginning, finding in `step` what it noted there.
//
// Why no wake-up is lost: a waiter enlists under the lock that protects the condition; whoever makes the condition
// true takes the waiter off under the same lock, then calls wake(). Exactly one party takes a waiter off (waker,
// time-out or signal), so wake() is called once for each wait. The woken thread is run by its home core only
// after that core has left the step, so it never runs while still on a stack.
#pragma once

#include "lib/errno.h"
#include "lib/intrusive_list.h"
#include "lib/types.h"
#include "sync/spin_lock.h"

namespace corral {

class WaitQueue;

enum class WakeReason : u8 { none, woken, timed_out, interrupted };

// What a step remembers between its runs. Zeroed when a new system call or fault begins.
struct StepState {
  u32 phase = 0;
  u64 word[6] = {};
};

class Waiter {
 public:
  // Called by the party that took this waiter off, from any core, exactly once for each wait; allocates nothing.
  virtual void wake(WakeReason reason) = 0;
  // True when a signal must end an interruptible wait. Own core only.
  [[nodiscard]] virtual bool interrupted() const = 0;
  // Starts a time-out for the wait about to begin; when it passes, the wait ends with timed_out. Own core only.
  virtual void set_timeout(Instant when) = 0;
  // Why the last wait ended; none in the first run of a step.
  [[nodiscard]] WakeReason wake_reason() const { return wake_reason_; }

  StepState step;  // own core only

 protected:
  ~Waiter() = default;
  WakeReason wake_reason_ = WakeReason::none;  // written by wake()'s delivery on the home core

 private:
  friend class WaitQueue;
  ListLink link_;                    // guarded by queue_'s lock
  WaitQueue* queue_ = nullptr;       // set by enlist; cleared by who takes the waiter off, under the queue's lock
  bool interruptible_ = false;
};

class WaitQueue {
 public:
  // `lock` protects the condition that is waited for, and with it this queue.
  constexpr explicit WaitQueue(SpinLock& lock) : lock_{lock} {}
  WaitQueue(const WaitQueue&) = delete;
  WaitQueue& operator=(const WaitQueue&) = delete;

  // Enlists the caller; the step must then return the result: blocked — or restart, when a signal is already
  // pending (nothing enlisted). `deadline` never: no time-out; a passed deadline gives etimedout at once through the
  // normal path (the step sees wake_reason timed_out when it runs again).
  [[nodiscard]] Errno wait(Waiter& waiter, Instant deadline = never) REQUIRES(lock_);
  // As wait, but signals do not end it (short waits on other cores' answers).
  [[nodiscard]] Errno wait_uninterruptible(Waiter& waiter) REQUIRES(lock_);
  // Wakes the longest waiting one; false when there was none.
  bool wake_one() REQUIRES(lock_);
  u32 wake_all() REQUIRES(lock_);
  [[nodiscard]] bool empty() REQUIRES(lock_) { return waiters_.empty(); }

  // Takes `waiter` off whatever queue it waits on, for a time-out or a signal; false when someone else was first (then
  // that one's wake is on its way). Called on the waiter's home core. Does not call wake().
  static bool take_off(Waiter& waiter, bool only_interruptible);

 private:
  SpinLock& lock_;
  IntrusiveList<Waiter, &Waiter::link_> waiters_ GUARDED_BY(lock_);
};

// A lock that is held across waits (mutual exclusion between steps): direct hand-over in order of arrival.
class StepMutex {
 public:
  constexpr explicit StepMutex(SpinLock& lock) : lock_{lock}, queue_{lock} {}
  // ok: the caller holds it (also when it was handed over during a wait). blocked: run the step again.
  [[nodiscard]] bool acquire(Waiter& waiter) REQUIRES(lock_);
  void release(Waiter& waiter) REQUIRES(lock_);
  [[nodiscard]] bool held_by(const Waiter& waiter) const REQUIRES(lock_) { return holder_ == &waiter; }

 private:
  SpinLock& lock_;
  WaitQueue queue_;
  Waiter* holder_ GUARDED_BY(lock_) = nullptr;
};

}  // namespace corral
