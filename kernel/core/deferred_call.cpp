// See deferred_call.h.
#include "core/deferred_call.h"

namespace corral {

void DeferredCall::ask() {
  letter_.message = {MessageType::deferred_call, {reinterpret_cast<u64>(this), 0, 0}};
  this_core().outbox().send_to(this_core(), letter_);
}

void DeferredCall::on_message(Core&, const Message& message) {
  auto& call = *reinterpret_cast<DeferredCall*>(message.word[0]);
  call.function_(call);
}

void DeferredCall::initialise() {
  set_message_handler(MessageType::deferred_call, on_message);
}

}  // namespace corral
