// Dropping translations on other cores. See translation_drop.h.
#include "vm/translation_drop.h"

#include "trace/panic.h"
#include "vm/core_translation.h"

namespace corral::vm {

void TranslationDrop::begin(const CoreSet& targets) {
  KERNEL_ASSERT(outstanding_.load(Order::relaxed) == 0 && !Outbox::pending(circular_) && !targets.empty());
  outstanding_.store(targets.count(), Order::relaxed);  // made visible with the messages
  circular_.message = {MessageType::drop_translations, {reinterpret_cast<u64>(this), 0, 0}};
  circular_.targets = targets;
  this_core().outbox().send(circular_);
}

void TranslationDrop::answer() {
  if (outstanding_.fetch_sub(1, Order::acq_rel) != 1) return;  // others are still to answer; the object is theirs
  if (finish != nullptr) finish(*this);
  waiter_.wake(WakeReason::woken);
}

void TranslationDrop::on_message(Core& core, const Message& message) {
  auto& drop = *reinterpret_cast<TranslationDrop*>(message.word[0]);
  Atomic<u64>& counter = core.counters.translation_drops;
  counter.store(counter.load(Order::relaxed) + 1, Order::relaxed);
  CoreTranslation::of(core.id()).forget(*drop.space, drop.start, drop.end, drop.generation);
  drop.answer();
}

void TranslationDrop::initialise() {
  set_message_handler(MessageType::drop_translations, on_message);
}

}  // namespace corral::vm
