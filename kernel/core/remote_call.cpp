// See remote_call.h.
#include "core/remote_call.h"

namespace corral {

bool RemoteCall::ask(Core& target, Function function) {
  if (&target == &this_core()) {
    result_ = function(target);
    return true;
  }
  function_ = function;
  letter_.message = {MessageType::remote_call, {reinterpret_cast<u64>(this), 0, 0}};
  this_core().outbox().send_to(target, letter_);
  return false;
}

void RemoteCall::on_message(Core& core, const Message& message) {
  auto& call = *reinterpret_cast<RemoteCall*>(message.word[0]);
  call.result_ = call.function_(core);
  call.waiter_.wake(WakeReason::woken);
}

void RemoteCall::initialise() {
  set_message_handler(MessageType::remote_call, on_message);
}

}  // namespace corral
