// A core's mailbox, sleep and timer. See core.h for who may call what.
//
// Why a posted message is never overlooked by a core that goes to sleep: the sender commits the message and then reads
// asleep_; the core sets asleep_ and then looks into its mailbox; a sequentially consistent fence stands between on both
// sides, so at least one of them sees the other. halt() enables interrupts only in the instruction before HLT, so the
// interrupt that the sender then sends ends the sleep at once.
#include "core/core.h"

#include <algorithm>

#include "device/interrupts.h"
#include "lib/format.h"
#include "sync/interleave.h"
#include "trace/panic.h"

namespace corral {

namespace {

constinit MessageHandler handlers[static_cast<u32>(MessageType::end_of_types)] = {};

// Adds to a counter that only the calling core writes: no locked instruction needed.
void bump(Atomic<u64>& counter) {
  counter.store(counter.load(Order::relaxed) + 1, Order::relaxed);
}

// How soon a core that sleeps with undelivered letters tries again.
constexpr Duration outbox_retry = microseconds(100);

}  // namespace

const char* name_of(CoreState state) {
  switch (state) {
    case CoreState::bootstrap: return "BOOTSTRAP";
    case CoreState::online: return "ONLINE";
    case CoreState::offline: return "OFFLINE";
    case CoreState::error: return "ERROR";
  }
  return "?";
}

void set_message_handler(MessageType type, MessageHandler handler) {
  handlers[static_cast<u32>(type)] = handler;
}

size_t Core::describe(char* to, size_t size) const {
  return format_to({to, size}, "hardware id {}, firmware id {}, {}", hardware_id_, firmware_id_, name_of(state())).size();
}

bool Core::post(const Message& message, bool urgent) {
  Counters& mine = this_core().counters;
  if (!mailbox_.post(message)) {
    bump(mine.mailbox_full);
    return false;
  }
  bump(mine.messages_sent);
  interleave::point();
  fence(Order::seq_cst);
  if (urgent || asleep_.load(Order::relaxed) != 0) {
    if (interrupt_pending_.exchange(1, Order::seq_cst) == 0) {
      bump(mine.message_interrupts_sent);
      interrupts::local_controller().send_message_interrupt(hardware_id_);
    }
  }
  return true;
}

void Core::drain_mailbox() {
  // Cleared before the first take: a message committed later finds it clear and sends a new interrupt.
  interrupt_pending_.store(0, Order::seq_cst);
  interleave::point();
  Message message;
  while (mailbox_.take(message)) {
    bump(counters.messages_taken);
    interleave::point();
    const auto type = static_cast<u32>(message.type);
    KERNEL_ASSERT(type < static_cast<u32>(MessageType::end_of_types) && handlers[type] != nullptr);
    handlers[type](*this, message);
  }
}

void Core::sleep() {
  asleep_.store(1, Order::relaxed);
  fence(Order::seq_cst);
  interleave::point();
  if (mailbox_.empty()) {
    bump(counters.idle_entries);
    slice_end_ = never;
    Instant wake_at = timers_.first();
    if (!outbox_.empty()) wake_at = std::min(wake_at, clock::now() + outbox_retry);
    if (wake_at != armed_) {
      if (wake_at == never) {
        timer_->disarm();
        armed_ = never;
      } else {
        arm_timer(wake_at);
      }
    }
    interleave::point();
    arch::halt();
  }
  asleep_.store(0, Order::relaxed);
}

void Core::arm_timer(Instant slice_end) {
  slice_end_ = slice_end;
  const Instant target = std::min(slice_end, timers_.first());
  // Armed earlier than needed is left alone: one early interrupt costs less than a write to the controller at every switch.
  if (armed_ <= target) return;
  timer_->arm(std::max(target - clock::now(), microseconds(1)));
  armed_ = target;
}

void Core::note_message_interrupt() {
  bump(counters.message_interrupts_taken);
  // It is no longer on its way. Its message may have been taken before it came; then no drain_mailbox() follows that
  // would say so, and without this nobody would ever interrupt this core again. Exchanged, not stored: what was
  // committed before the exchange that found it set is seen by the look into the mailbox that comes after this.
  interrupt_pending_.exchange(0, Order::seq_cst);
}

void Core::on_timer_interrupt() {
  bump(counters.timer_interrupts);
  armed_ = never;
  timers_.run_until(clock::now());
}

}  // namespace corral
