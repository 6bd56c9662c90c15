// The trace: what the scheduler and the kernel round it do, written down by each core in a ring of its own.
//
// wants() is all that it costs while it is off: one look at a word that nobody writes. Switched on and off by /proc/trace, read
// by /dev/trace (docs/tracing.md). write(): the core itself, interrupts off, any lock; not in an NMI.
#pragma once

#include <span>
#include <string_view>

#include "arch/processor.h"
#include "lib/result.h"
#include "trace/ring.h"

namespace corral::trace {

// Bits of Event.
extern constinit Atomic<u32> wanted_events;

[[nodiscard]] inline bool wants(Event event) {
  return (wanted_events.load(Order::relaxed) >> static_cast<u32>(event) & 1) != 0;
}

// Counts the calls of want(): what was noted for the trace before another number is out of date.
[[nodiscard]] u32 session();

[[nodiscard]] Ring<>& ring_of(CoreId core);

// Which events are wanted from now on. Any core, from a step; one caller at a time.
void want(u32 events);
// Told, in that call, what is wanted: for what is too hot for a look at wants(). Boot context, once.
void set_listener(void (*listener)(u32 events));

// ---- names for users: "switch", "wake" …, each for one or more events ---------------------------------------------------------
struct Group {
  std::string_view name;
  u32 events;
  std::string_view description;
  bool on_demand = false;  // not part of "on"
};
[[nodiscard]] std::span<const Group> groups();

// Sets the time and the core, and puts the record into this core's ring.
void put(Record& record);

template <class Data>
void write(Event event, u8 detail, i32 thread, const Data& data) {
  static_assert(sizeof(Data) <= sizeof(Record::data));
  Record record{0, event, detail, 0, thread, {}};
  __builtin_memcpy(record.data, &data, sizeof data);  // a few moves: its size is known here
  put(record);
}

}  // namespace corral::trace
