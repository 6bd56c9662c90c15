// A core's mailbox, sleep and timer. See core.h for who may call what.
//
// Why a posted message is never overlooked by a core that goes to sleep: the sender commits the message and then rings
// (core/doorbell.h), so an interrupt comes after it. halt() enables interrupts only in the instruction before HLT, so an
// interrupt that comes after the look into the mailbox ends the sleep at once. (tests/models/parking.pml)
#include "core/core.h"

#include <algorithm>

#include "core/call_watch.h"
#include "device/interrupts.h"
#include "lib/format.h"
#include "lib/planted.h"
#include "sync/interleave.h"
#include "trace/invariants.h"
#include "trace/panic.h"
#include "trace/trace.h"

namespace corral {

namespace {

constinit MessageHandler handlers[static_cast<u32>(MessageType::end_of_types)] = {};

// Adds to a counter that only the calling core writes: no locked instruction needed.
void bump(Atomic<u64>& counter) {
  counter.store(counter.load(Order::relaxed) + 1, Order::relaxed);
}

[[gnu::noinline]] void note_message(trace::Event event, MessageType type, CoreId to) {
  trace::write(event, 0, 0, trace::Message{static_cast<u32>(type), to.value});
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

bool Core::post(const Message& message) {
  Counters& mine = this_core().counters;
  if (message.type == MessageType::thread && planted_now_and_then(Plant::request_message_lost, 50)) return true;
  if (message.type == MessageType::arrive && planted_now_and_then(Plant::arrival_message_lost, 50)) return true;
  if (!mailbox_.post(message)) {
    bump(mine.mailbox_full);
    return false;
  }
  bump(mine.messages_sent);
  if (trace::wants(trace::Event::message_sent)) [[unlikely]]
    note_message(trace::Event::message_sent, message.type, id_);
  interleave::point();
  if (planted(Plant::kick_missing)) return true;
  if (doorbell_.ring()) {
    bump(mine.message_interrupts_sent);
    interrupts::local_controller().send_message_interrupt(hardware_id_);
  }
  return true;
}

void Core::drain_mailbox() {
  doorbell_.answer();
  interleave::point();
  Message message;
  while (mailbox_.take(message)) {
    bump(counters.messages_taken);
    if (trace::wants(trace::Event::message_taken)) [[unlikely]]
      note_message(trace::Event::message_taken, message.type, CoreId{max_cores});
    interleave::point();
    const auto type = static_cast<u32>(message.type);
    KERNEL_ASSERT(type < static_cast<u32>(MessageType::end_of_types) && handlers[type] != nullptr);
    handlers[type](*this, message);
  }
}

void Core::sleep() {
  interleave::point();
  if (mailbox_.empty()) {
    bump(counters.idle_entries);
    slice_end_ = never;
    Instant wake_at = timers_.first();
    if (planted(Plant::timers_forgotten_asleep)) wake_at = never;
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
    check_timer();
    const u64 interrupts = counters.message_interrupts_taken.load(Order::relaxed);
    asleep_.store(true, Order::relaxed);
    arch::halt();
    note_awake();
    check_announcement(interrupts);
  }
}

void Core::check_timer() const {
  if (armed_ > timers_.first()) [[unlikely]]
    invariants::report({invariants::Invariant::timer, invariants::During::sleep, id_});
}

void Core::check_announcement(u64 interrupts_before) {
  const u64 interrupts = counters.message_interrupts_taken.load(Order::relaxed);
  if (announcements_.lacking(interrupts, interrupts_before, !mailbox_.empty())) [[unlikely]]
    invariants::report({invariants::Invariant::unannounced_message, invariants::During::sleep, id_});
}

void Core::end_sleep() {
  asleep_.store(false, Order::relaxed);
  fence(Order::seq_cst);  // before the look whether the watch has stopped: who stops it looks who sleeps afterwards
  call_watch::keep();
}

Instant Core::arm_hardware(Instant target) {
  if (target == slice_end_ && planted_now_and_then(Plant::tick_not_armed, 100)) return armed_;
  timer_->arm(std::max(target - clock::now(), microseconds(1)));
  return armed_ = target;
}

u8 Core::sign_of_life() const {
  u64 sum = 0;
  for (const Atomic<u64>* each :
       {&counters.messages_taken, &counters.message_interrupts_taken, &counters.timer_interrupts, &counters.idle_entries}) {
    sum += each->load(Order::relaxed);
  }
  return static_cast<u8>(sum);
}

void Core::note_message_interrupt() {
  bump(counters.message_interrupts_taken);
  // Its message may have been taken before it came; then no drain_mailbox() follows that would answer.
  doorbell_.answer();
}

bool Core::on_timer_interrupt() {
  bump(counters.timer_interrupts);
  armed_ = never;
  return timers_.run_until(clock::now());
}

}  // namespace corral
