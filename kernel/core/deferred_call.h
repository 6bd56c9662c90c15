// Something that is to be done soon, but not here: a place that holds locks asks for it, and it is done when the step of
// this core is over and no lock is held. So who is told of a file's change under the file's lock may send a signal for it,
// although a process's lock ranks below.
//
// It comes as a message from this core to itself, so that it is done before the thread that runs returns to its program.
#pragma once

#include "core/core.h"

namespace corral {

class DeferredCall {
 public:
  // Called on the core that asked, between two steps, no lock held; must not wait.
  using Function = void (*)(DeferredCall& call);
  constexpr explicit DeferredCall(Function function) : function_{function} {}

  // Any step or interrupt, under any lock. Not again before `function` has been called; the object lives until then.
  void ask();

  static void initialise();  // boot context: installs the message handler

 private:
  static void on_message(Core& core, const Message& message);
  const Function function_;
  Letter letter_;
};

}  // namespace corral
