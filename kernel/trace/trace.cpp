// See trace.h.
#include "trace/trace.h"

#include "trace/log.h"

namespace corral::trace {

constinit Atomic<u32> wanted_events{0};
constinit Atomic<u32> sessions{0};
constinit Ring<> rings[max_cores];
constinit Atomic<TimeOfCycles> time_of_cycles{nullptr};

namespace {

constinit void (*listener)(u32 events) = nullptr;

constexpr u32 bits(std::initializer_list<Event> events) {
  u32 all = 0;
  for (const Event event : events) all |= u32{1} << static_cast<u32>(event);
  return all;
}

constexpr u32 decisions = bits({Event::policy_made, Event::policy_value, Event::timeline_called, Event::core_seen,
                                Event::decision_asked, Event::decision_about, Event::decision_answered});

constexpr u32 calls = bits({Event::call_begun, Event::call_ended, Event::called});

constexpr Group all_groups[] = {
    {"switch", bits({Event::switched}), "another thread runs, or none"},
    {"wake", bits({Event::waking, Event::woken, Event::created}), "a thread is woken, by whom, and waits in a queue"},
    {"place", bits({Event::placed}), "a core is chosen for a thread, with the scores of the candidates"},
    {"migrate", bits({Event::migrated}), "a thread goes to another core"},
    {"message", bits({Event::message_sent, Event::message_taken}), "messages between cores"},
    {"interrupt", bits({Event::interrupt_begun, Event::interrupt_ended}), "interrupts"},
    {"call", calls, "system calls and their answers"},
    {"policy", bits({Event::policy_changed}), "another scheduling policy"},
    {"arguments", calls | bits({Event::called_with}), "system calls with their arguments", true},
    {"decide", decisions, "what policies are asked, and what they answer, for the simulator", true},
};

}  // namespace

u64 stamp_by_clock() {
  return static_cast<u64>(log::now().ns);
}

std::span<const Group> groups() {
  return all_groups;
}

void set_listener(void (*told)(u32 events)) {
  listener = told;
}

void want(u32 events) {
  sessions.fetch_add(1, Order::relaxed);
  wanted_events.store(events, Order::release);
  if (listener != nullptr) listener(events);
}

}  // namespace corral::trace
