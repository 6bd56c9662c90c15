// Letters that found a mailbox full. Own core only, interrupts off.
//
// Order: messages of this core to one other core arrive in the order in which they were sent. A letter therefore waits
// behind every kept letter that still has the same target. Neighbours: core/core.h (post), core/mailbox.h.
#include "core/outbox.h"

#include "core/core.h"
#include "trace/panic.h"

namespace corral {
namespace {

// Posts to all targets that are not in `waiting`; answers those that are left and adds them to `waiting`. The letter is
// not touched after the first post: when a message has arrived, what it is about may go on, be sent again or end.
CoreSet post_to_targets(const Letter& letter, CoreSet& waiting) {
  const Message message = letter.message;
  const CoreSet targets = letter.targets;
  CoreSet left;
  targets.for_each([&](CoreId id) {
    if (waiting.contains(id) || !cores::get(id).post(message)) left.add(id);
  });
  waiting = waiting | left;
  return left;
}

}  // namespace

void Outbox::send(Letter& letter) {
  KERNEL_ASSERT(!pending(letter));
  CoreSet waiting;
  letters_.for_each([&](Letter& kept) { waiting = waiting | kept.targets; });
  keep(letter, post_to_targets(letter, waiting));
}

void Outbox::send_also(Letter& letter, const Message& message, const CoreSet& targets) {
  if (pending(letter)) {  // some mailbox was full
    letter.targets = letter.targets | targets;
    return;
  }
  letter.message = message;
  letter.targets = targets;
  send(letter);
}

void Outbox::keep(Letter& letter, const CoreSet& left) {
  if (left.empty()) return;  // all have it, so it is no longer ours
  letter.targets = left;
  letters_.push_back(letter);
}

void Outbox::send_to(Core& target, Letter& letter) {
  KERNEL_ASSERT(!pending(letter));
  letter.targets = CoreSet::of(target.id());
  send(letter);
}

void Outbox::flush() {
  // Each letter leaves the list before it is posted, because it may be used again the moment it has arrived.
  CoreSet waiting;
  Letter* const last = letters_.back();
  for (bool more = last != nullptr; more;) {
    Letter& letter = *letters_.pop_front();
    more = &letter != last;
    keep(letter, post_to_targets(letter, waiting));
  }
}

}  // namespace corral
