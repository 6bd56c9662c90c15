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
//
// That the lock is held is checked at run time, in every build (a queue knows its lock by reference only, which
// clang's analysis cannot tell apart). An object that holds a queue may end only after it has woken all.
#pragma once

#include "lib/atomic.h"
#include "lib/errno.h"
#include "lib/intrusive_list.h"
#include "lib/ref.h"
#include "lib/types.h"
#include "sync/spin_lock.h"
#include "sync/wait_place.h"

namespace corral {

class WaitQueue;

enum class WakeReason : u8 { none, woken, timed_out, interrupted };

// What a step keeps between its runs that does not fit into words; let go of when the step ends.
class StepKept : public RefCounted<StepKept> {
 public:
  virtual ~StepKept() = default;
  virtual void begin_run() = 0;  // the step is about to be run (again)
};

// What a step remembers between its runs. Zeroed when a new system call or fault begins.
struct StepState {
  u32 phase = 0;
  u32 prepared = 0;  // vm::PreparedPages: how many there are
  u64 word[6] = {};
  Ref<StepKept> kept;
};

class Waiter {
 public:
  // Called by the party that took this waiter off, from any core, exactly once for each wait; allocates nothing.
  virtual void wake(WakeReason reason) = 0;
  // True when a signal must end an interruptible wait. Own core only.
  [[nodiscard]] virtual bool interrupted() const = 0;
  // How often it has blocked: another number, another run of a step. Own core only.
  [[nodiscard]] virtual u64 blocked_so_often() const = 0;
  // Starts a time-out for the wait about to begin; when it passes, the wait ends with timed_out. Own core only.
  virtual void set_timeout(Deadline deadline) = 0;
  // Why the last wait ended; none in the first run of a step.
  [[nodiscard]] WakeReason wake_reason() const { return wake_reason_; }

  StepState step;  // own core only
  [[nodiscard]] bool waits() const { return place_.waits(); }  // in some WaitQueue

 protected:
  ~Waiter() = default;
  WakeReason wake_reason_ = WakeReason::none;  // written by wake()'s delivery on the home core

 private:
  friend class WaitQueue;
  ListLink link_;               // guarded by the queue's lock
  bool interruptible_ = false;  // own core
  WaitPlace<> place_;           // the queue, if any
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
  [[nodiscard]] Errno wait(Waiter& waiter, Deadline deadline = never);
  // As wait, but signals do not end it (short waits on other cores' answers).
  [[nodiscard]] Errno wait_uninterruptible(Waiter& waiter);
  // Wakes the longest waiting one; false when there was none.
  bool wake_one();
  u32 wake_all();
  [[nodiscard]] bool empty();

  // Takes `waiter` off whatever queue it waits on, for a time-out or a signal; false when someone else was first (then
  // that one's wake is on its way) or signals may not end this wait. Called on the waiter's home core, holding no lock
  // of a rank above the queue's. Does not call wake(). Waits for no one but a waker that is already at this waiter.
  static bool take_off(Waiter& waiter, bool only_interruptible);

 private:
  friend class StepMutex;
  void enlist(Waiter& waiter, bool interruptible) REQUIRES(lock_);
  // The longest waiting one, no longer waiting; null when there is none.
  Waiter* dequeue() REQUIRES(lock_);
  // Takes out one that waits here, if it does; on its home core.
  void strike_out(Waiter& waiter) REQUIRES(lock_);

  SpinLock& lock_;
  IntrusiveList<Waiter, &Waiter::link_> waiters_ GUARDED_BY(lock_);
};

// A lock that is held across waits (mutual exclusion between steps): direct hand-over in order of arrival.
// `lock` protects it; it must be held in every call.
class StepMutex {
 public:
  constexpr explicit StepMutex(SpinLock& lock) : lock_{lock}, queue_{lock} {}
  // True: the caller holds it (also when it was handed over during a wait). False: run the step again after the
  // wake-up. Signals do not end this wait; a waiter whose step will never run again must be given to forget().
  [[nodiscard]] bool acquire(Waiter& waiter);
  void release(Waiter& waiter);
  [[nodiscard]] bool held_by(const Waiter& waiter) const;
  // The waiter ends: takes it out of the queue, or hands on what it holds or was just handed. On its home core.
  void forget(Waiter& waiter);

 private:
  void hand_on() REQUIRES(lock_);

  SpinLock& lock_;
  WaitQueue queue_;
  Waiter* holder_ GUARDED_BY(lock_) = nullptr;
};

}  // namespace corral
