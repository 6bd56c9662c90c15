// The trace: what the scheduler and the kernel round it do, written down by each core in a ring of its own.
//
// wants() is all that it costs while it is off: one look at a word that nobody writes. Switched on and off by /proc/trace, read
// by /dev/trace (docs/tracing.md). write(): the core itself, interrupts off, any lock; not in an NMI.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "arch/processor.h"
#include "lib/result.h"
#include "trace/ring.h"
#include "trace/stamp.h"

namespace corral::trace {

// Bits of Event.
extern constinit Atomic<u32> wanted_events;

[[nodiscard]] inline bool wants(Event event) {
  return (wanted_events.load(Order::relaxed) >> static_cast<u32>(event) & 1) != 0;
}

// Counts the calls of want(): what was noted for the trace before another number is out of date.
extern constinit Atomic<u32> sessions;
[[nodiscard]] inline u32 session() {
  return sessions.load(Order::relaxed);
}

extern constinit Ring<> rings[max_cores];
[[nodiscard]] inline Ring<>& ring_of(CoreId core) {
  return rings[core.value];
}

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

// Puts a record into this core's ring: as few instructions as there can be, and all of them in its caller.
template <class Data>
void write_at(u64 stamp, Event event, u8 detail, i32 thread, const Data& data) {
  static_assert(sizeof(Data) <= sizeof(Record::data));
  constexpr u64 count = (sizeof(Data) + sizeof(u64) - 1) / sizeof(u64);
  u64 word[count];
  word[count - 1] = 0;
  __builtin_memcpy(word, &data, sizeof data);
  const u64 head = static_cast<u64>(event) | u64{detail} << 8 | u64{static_cast<u32>(thread)} << 32;
  [&]<u64... I>(std::index_sequence<I...>) {
    rings[arch::core_index()].write(stamp, head, word[I]...);
  }(std::make_index_sequence<count>{});
}

template <class Data>
void write(Event event, u8 detail, i32 thread, const Data& data) {
  write_at(stamp(), event, detail, thread, data);
}

}  // namespace corral::trace
