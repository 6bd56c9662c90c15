// Whether the messages to a core that sleeps come with an interrupt: the account that finds out when they do not.
//
// One message tells nothing: another interrupt may end the sleep a moment earlier, or its sender be stopped (by its host, or by what
// waits for a lock of an emulator) between the message and the interrupt. But then the interrupt comes later. So a message that was
// found without one is a debt, each interrupt that is taken, in sleep or not, pays for one, and only many debts are a defect.
// Own state of one core; interrupts off. Neighbours: core/core.cpp.
#pragma once

#include "lib/types.h"

namespace corral {

class Announcements {
 public:
  static constexpr u32 most_owed = 12;

  // After each sleep. `interrupts`: how many for messages the core has taken so far; `before`: the same when it fell asleep.
  // True: too many messages came without one. The account begins anew then.
  [[nodiscard]] bool lacking(u64 interrupts, u64 before, bool mail) {
    if (!mail) return false;
    const u64 paid = interrupts - seen_;
    seen_ = interrupts;
    owed_ -= static_cast<u32>(paid < owed_ ? paid : owed_);
    if (interrupts != before || ++owed_ < most_owed) return false;
    owed_ = 0;
    return true;
  }

 private:
  u64 seen_ = 0;
  u32 owed_ = 0;
};

}  // namespace corral
