// A core: a device with a mailbox, a timer queue and published numbers (paper 000, section 3.2; paper 004, section 2).
//
// Fields are grouped by who may touch them: only the core itself ("own"), any core ("shared", atomics), or the
// bootstrap core while it starts this one ("boot"). The kernel runs with interrupts off, so "own" needs no lock.
#pragma once

#include "arch/processor.h"
#include "core/announcements.h"
#include "core/doorbell.h"
#include "core/expected_nmi.h"
#include "core/mailbox.h"
#include "core/outbox.h"
#include "core/timer_queue.h"
#include "device/clock.h"
#include "device/device.h"
#include "lib/core_set.h"

namespace corral {

// BOOTSTRAP implies ONLINE. ERROR: refused by the firmware tables, or did not answer its start-up.
enum class CoreState : u8 { bootstrap, online, offline, error };
[[nodiscard]] const char* name_of(CoreState state);

class Scheduler;
class Executive;

class Core final : public Device {
 public:
  static constexpr DeviceClass device_class_object{"core"};
  static constexpr u32 mailbox_capacity = 256;

  Core(CoreId id, u32 hardware_id, u32 firmware_id, CoreState state)
      : Device{device_class_object}, id_{id}, hardware_id_{hardware_id}, firmware_id_{firmware_id}, state_{state} {
    area_.id = id.value;
  }

  [[nodiscard]] CoreId id() const { return id_; }
  [[nodiscard]] u32 hardware_id() const { return hardware_id_; }  // local APIC id
  [[nodiscard]] u32 firmware_id() const { return firmware_id_; }  // ACPI processor id
  [[nodiscard]] CoreState state() const { return state_.load(Order::acquire); }
  void set_state(CoreState state) { state_.store(state, Order::release); }
  [[nodiscard]] bool running() const { return state() == CoreState::bootstrap || state() == CoreState::online; }
  size_t describe(char* to, size_t size) const override;

  // ---- sending to this core: any core ------------------------------------------------------------------------
  // Puts the message into the mailbox and interrupts the core unless an interrupt is on its way already. False: the
  // mailbox is full; use Outbox (core/outbox.h).
  [[nodiscard]] bool post(const Message& message);

  // Sleeping, as far as another core can tell.
  [[nodiscard]] bool asleep() const { return asleep_.load(Order::seq_cst); }
  // Asleep, and no message has called it.
  [[nodiscard]] bool sleeps_uncalled() const { return asleep() && !doorbell_.rung(); }
  // Another number, of 256, when it has taken a message or an interrupt or gone to sleep.
  [[nodiscard]] u8 sign_of_life() const;
  // In a guarded call at this moment (arch/guarded_call.h).
  [[nodiscard]] bool in_guarded_call() const { return __atomic_load_n(&area_.guarded_resume, __ATOMIC_RELAXED) != 0; }
  // NMIs that other cores send this one. Any core.
  [[nodiscard]] ExpectedNmi<>& expected_nmi() { return expected_nmi_; }

  // ---- own ---------------------------------------------------------------------------------------------------
  // The first thing in each interrupt that may end sleep(), so that nothing is called from there unwatched (core/call_watch.h).
  void note_awake() {
    if (asleep_.load(Order::relaxed)) [[unlikely]]
      end_sleep();
  }
  // Handles all messages waiting. Interrupts off, at a point where the current step is finished.
  void drain_mailbox();
  [[nodiscard]] bool has_mail() const { return !mailbox_.empty(); }
  // Sleeps until there is something to do: stops the tick, arms the timer for the first of timers(), halts. Returns
  // after at least one interrupt or message.
  void sleep();
  [[nodiscard]] TimerQueue& timers() { return timers_; }
  [[nodiscard]] Outbox& outbox() { return outbox_; }
  [[nodiscard]] CoreTimer* timer() { return timer_; }
  void set_timer(CoreTimer& timer) { timer_ = &timer; }
  // Sets when the running thread's slice ends and arms the hardware for the earlier of that and the first timer. Answers
  // when it will interrupt.
  // Armed earlier than needed is left alone: one early interrupt costs less than a write to the controller at every switch.
  Instant arm_timer(Instant slice_end) {
    slice_end_ = slice_end;
    const Instant first = timers_.first();
    const Instant target = slice_end < first ? slice_end : first;
    return armed_ <= target ? armed_ : arm_hardware(target);
  }
  // Arms the hardware again after timers() has changed.
  void rearm_timer() { arm_timer(slice_end_); }
  // The interrupt that announces messages; they are read on the way out of the kernel.
  void note_message_interrupt();
  // The timer interrupt, first part: runs the timers that are due; false: none was. The scheduler then looks at the
  // slice, and rearm_timer() ends it.
  bool on_timer_interrupt();
  [[nodiscard]] arch::CoreArea& area() { return area_; }

  // Something of this core's own is to be done before it returns to user mode: threads to look at, another thread to run.
  // One look instead of several, on the way out of every system call.
  bool attention = true;

  Circular wall_clock_circular;  // core/wall_clock.h

  Scheduler* scheduler = nullptr;  // set before the core is online
  Executive* executive = nullptr;  // set before the core is online

  // ---- counters: written by the core itself (or the sender where it says so), read by anyone --------------------
  struct Counters {
    Atomic<u64> messages_taken{0};
    Atomic<u64> message_interrupts_taken{0};
    Atomic<u64> message_interrupts_sent{0};  // by this core
    Atomic<u64> messages_sent{0};  // by this core
    Atomic<u64> mailbox_full{0};  // posts by this core that found another's mailbox full
    Atomic<u64> timer_interrupts{0};
    Atomic<u64> idle_entries{0};
    Atomic<u64> translation_drops{0};  // drop_translations messages handled here
    Atomic<u64> user_cycles{0};  // of the cycle counter, in user mode and in steps of threads (for /proc/stat)
    Atomic<u64> system_cycles{0};
  };
  alignas(cache_line) Counters counters;

 private:
  arch::CoreArea area_;  // own; entry code
  const CoreId id_;
  const u32 hardware_id_;
  const u32 firmware_id_;
  Atomic<CoreState> state_;  // boot

  TimerQueue timers_;  // own
  Outbox outbox_;  // own
  CoreTimer* timer_ = nullptr;  // own
  Instant armed_ = never;  // own: what the hardware timer is set to
  Instant slice_end_ = never;  // own: when the running thread is to be looked at again
  Announcements announcements_;  // own: see check_announcement()
  friend class CoreTable;

  void end_sleep();
  Instant arm_hardware(Instant target);
  void check_timer() const;
  void check_announcement(u64 interrupts_before);
  Atomic<bool> asleep_{false};  // own writes

  alignas(cache_line) Doorbell<> doorbell_;  // shared
  ExpectedNmi<> expected_nmi_;  // shared
  Mailbox<mailbox_capacity> mailbox_;  // shared
};

// Handlers of message types, one for each, set at start-up by the room that knows the type. Runs on the receiving
// core, interrupts off, must not wait.
using MessageHandler = void (*)(Core& core, const Message& message);
void set_message_handler(MessageType type, MessageHandler handler);

namespace cores {
// Boot context, in order of discovery; the bootstrap core must be the first. enomem.
Result<Core*> add(u32 hardware_id, u32 firmware_id, CoreState state);
[[nodiscard]] u32 count();  // all that were detected, of every state
[[nodiscard]] Core& get(CoreId id);  // id < count()
[[nodiscard]] CoreSet online();  // cores that run threads
void mark_online(Core& core);
[[nodiscard]] u32 online_count();
}  // namespace cores

[[nodiscard]] inline Core& this_core() {
  return arch::current_core();
}

}  // namespace corral
