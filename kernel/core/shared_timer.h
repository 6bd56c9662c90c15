// A timer that any core may set, under its owner's lock. (A thread's own time-out needs none of this: see TimerEvent.)
//
// The event lives in the queue of one core, and only that core may touch its queue. Setting the timer on another core notes
// the instant; if that is earlier than what the queue has, the core is told by a message to look. Later or never needs
// no message: the event finds out when it fires. So a timer has one event and one letter, however often it is set.
//
// While a core has the event or a letter is on its way the timer must live: keep() and let_go() count references.
// Context: steps of threads; due() in the timer interrupt or a mailbox handler. Rank of the lock: any.
#pragma once

#include "core/core.h"
#include "sync/spin_lock.h"

namespace corral {

class SharedTimer {
 public:
  constexpr explicit SharedTimer(SpinLock& lock) : lock_{lock} {}
  SharedTimer(const SharedTimer&) = delete;
  SharedTimer& operator=(const SharedTimer&) = delete;

  // due() is called once, at `deadline` or soon after; never: not at all. An earlier setting is forgotten. The lock is held.
  void set(Deadline deadline);
  // As set(never), and no core keeps a reference for long. The lock is held, and the caller has a reference.
  void withdraw();

  static void initialise();  // boot context: installs the message handler

 protected:
  ~SharedTimer() = default;
  virtual void due() = 0;  // the lock is held; may set() again
  // The wall clock may have been set, and the setting goes by it; due() may follow at once. The lock is held.
  virtual void wall_clock_set() {}
  virtual void keep() = 0;
  virtual void let_go() = 0;  // the lock is not held, unless somebody else has a reference

 private:
  static void on_event(TimerEvent& event);
  static void on_message(Core& core, const Message& message);
  void enqueue(Core& here);
  void dequeue(Core& here);
  void tell_home();

  SpinLock& lock_;
  TimerEvent event_{on_event};  // in home_'s queue
  Deadline deadline_;           // guarded by lock_, as what follows
  Instant looks_at_ = never;    // when home_ looks at the deadline, at the latest
  bool looks_when_set_ = false;  // and when the wall clock is set
  Core* home_ = nullptr;        // whose queue has the event; null: none
  bool letter_out_ = false;
  Letter letter_;
};

}  // namespace corral
