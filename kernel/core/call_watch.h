// Ends guarded calls (arch/guarded_call.h) that do not come back by themselves: policies run with interrupts off, so that only an
// NMI reaches a core that is caught in one.
//
// A timer of the machine sends the bootstrap core an NMI every 55 ms while any core is awake. Its handler looks at the guarded call
// of this core, and sends an NMI to each other core that is in one. A call is left when `most_looks` in a row, each made by the
// core itself, found the same one: a core that its host has stopped makes no looks, so that a busy host looks like no endless
// loop. With all cores asleep the timer stops; keep() starts it again.
// Without such a timer (a platform that has none) nobody is watched, and everything else works.
#pragma once

#include "lib/types.h"

namespace corral {

// The timer; in an NMI too, any core, no lock.
class CallWatchTimer {
 public:
  virtual void start() = 0;  // one NMI to the bootstrap core, in 55 ms or so
  [[nodiscard]] virtual bool due() = 0;  // that one has come
  virtual void send_nmi(u32 hardware_id) = 0;  // to another core

 protected:
  ~CallWatchTimer() = default;
};

namespace call_watch {

inline constexpr u32 most_looks = 6;

// Boot context, once there are cores.
void use(CallWatchTimer& timer);

namespace detail {
extern bool asleep;  // the timer is not running, though there is one; written by who starts and stops it
void wake();
}  // namespace detail

// A core that was asleep is not any more: before it makes guarded calls.
inline void keep() {
  if (__atomic_load_n(&detail::asleep, __ATOMIC_RELAXED)) [[unlikely]]
    detail::wake();
}

}  // namespace call_watch
}  // namespace corral
