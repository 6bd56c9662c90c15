// A question from a thread to another core, answered by a message (paper 004, section 2.3: the `remote_ticks` example).
//
// The thread blocks; the asked core executes `function` between two of its steps and wakes the thread, wherever its home is
// by then (the wake-up is forwarded). The caller's core runs other threads meanwhile.
#pragma once

#include "core/core.h"
#include "sync/waiter.h"

namespace corral {

class RemoteCall {
 public:
  using Function = u64 (*)(Core& asked);
  explicit RemoteCall(Waiter& waiter) : waiter_{waiter} {}

  // Asks `target`; the step must answer blocked afterwards, uninterruptibly, and finds result() when it runs again.
  // Asking the own core answers at once: true.
  [[nodiscard]] bool ask(Core& target, Function function);
  [[nodiscard]] u64 result() const { return result_; }

  static void initialise();  // boot context: installs the message handler

 private:
  static void on_message(Core& core, const Message& message);
  Waiter& waiter_;
  Letter letter_;
  Function function_ = nullptr;
  u64 result_ = 0;  // written by the asked core before it wakes the waiter
};

}  // namespace corral
