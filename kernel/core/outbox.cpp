// Letters that found a mailbox full.
//
// Order: messages of this core to one other core arrive in the order in which they were sent. What is sent therefore waits
// behind everything that is kept for the same target. Neighbours: core/core.h (post), core/mailbox.h.
//
// Nothing is touched after the last of its posts: when a message has arrived, what it is about may go on, be sent again or end. So
// messages are copied, and who gets its last one leaves its list before.
#include "core/outbox.h"

#include "core/core.h"
#include "trace/panic.h"

namespace corral {

void Outbox::send_to(Core& target, Letter& letter) {
  KERNEL_ASSERT(!pending(letter));
  const Message message = letter.message;
  if (!waiting_.contains(target.id()) && target.post(message)) return;
  ++kept_;
  letter.number = next_number_++;
  letters_[target.id().value].push_back(letter);
  waiting_.add(target.id());
}

void Outbox::send(Circular& circular) {
  KERNEL_ASSERT(!pending(circular));
  const Message message = circular.message;
  const CoreSet targets = circular.targets;
  CoreSet left;
  targets.for_each([&](CoreId id) {
    if (waiting_.contains(id) || !cores::get(id).post(message)) left.add(id);
  });
  if (left.empty()) return;  // all have it, so it is no longer ours
  ++kept_;
  circular.targets = left;
  circular.number = next_number_++;
  circulars_.push_back(circular);
  waiting_ = waiting_ | left;
}

void Outbox::send_also(Circular& circular, const Message& message, const CoreSet& targets) {
  if (pending(circular)) {  // some mailbox was full
    circular.targets = circular.targets | targets;
    waiting_ = waiting_ | targets;
    return;
  }
  circular.message = message;
  circular.targets = targets;
  send(circular);
}

void Outbox::flush() {
  const CoreSet targets = waiting_;
  targets.for_each([&](CoreId id) {
    if (deliver_to(cores::get(id))) waiting_.remove(id);
  });
}

// False: its mailbox is full, and something is left.
bool Outbox::deliver_to(Core& target) {
  auto& letters = letters_[target.id().value];
  Circular* circular = find_for(target.id(), circulars_.front());
  for (;;) {
    const Letter* letter = letters.front();
    if (circular != nullptr && (letter == nullptr || circular->number < letter->number)) {
      Circular* const following = find_for(target.id(), circulars_.next(*circular));
      if (!deliver(*circular, target)) return false;
      circular = following;
    } else if (letter == nullptr) {
      return true;
    } else if (!deliver_first(target)) {
      return false;
    }
  }
}

bool Outbox::deliver_first(Core& target) {
  auto& letters = letters_[target.id().value];
  Letter& letter = *letters.pop_front();
  const Message message = letter.message;
  if (target.post(message)) {
    --kept_;
    return true;
  }
  letters.push_front(letter);
  return false;
}

bool Outbox::deliver(Circular& circular, Core& target) {
  const Message message = circular.message;
  Circular* const following = circulars_.next(circular);
  circular.targets.remove(target.id());
  const bool last = circular.targets.empty();
  if (last) circulars_.remove(circular);
  if (target.post(message)) {
    if (last) --kept_;
    return true;
  }
  circular.targets.add(target.id());
  if (last) following != nullptr ? circulars_.insert_before(*following, circular) : circulars_.push_back(circular);
  return false;
}

Circular* Outbox::find_for(CoreId target, Circular* from) {
  while (from != nullptr && !from->targets.contains(target)) from = circulars_.next(*from);
  return from;
}

}  // namespace corral
