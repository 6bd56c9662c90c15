// Letters that found a mailbox full. Own core only, interrupts off.
//
// Order: messages of this core to one other core arrive in the order in which they were sent. A letter therefore waits
// behind every kept letter that still has the same target. Neighbours: core/core.h (post), core/mailbox.h.
#include "core/outbox.h"

#include "core/core.h"
#include "trace/panic.h"

namespace corral {
namespace {

// Posts to all targets that are not in `waiting`; those that are full stay in the letter and join `waiting`.
void post_to_targets(Letter& letter, CoreSet& waiting) {
  letter.targets.for_each([&](CoreId id) {
    if (waiting.contains(id)) return;
    if (cores::get(id).post(letter.message, letter.urgent)) {
      letter.targets.remove(id);
    } else {
      waiting.add(id);
    }
  });
  waiting = waiting | letter.targets;
}

}  // namespace

void Outbox::send(Letter& letter) {
  KERNEL_ASSERT(!pending(letter));
  CoreSet waiting;
  letters_.for_each([&](Letter& kept) { waiting = waiting | kept.targets; });
  post_to_targets(letter, waiting);
  if (!letter.targets.empty()) letters_.push_back(letter);
}

void Outbox::send_to(Core& target, Letter& letter) {
  KERNEL_ASSERT(!pending(letter));
  letter.targets = CoreSet::of(target.id());
  send(letter);
}

void Outbox::flush() {
  CoreSet waiting;
  letters_.for_each([&](Letter& letter) {
    post_to_targets(letter, waiting);
    if (letter.targets.empty()) decltype(letters_)::remove(letter);
  });
}

}  // namespace corral
