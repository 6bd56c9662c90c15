// The trace: what the scheduler and the kernel round it do, written down by each core in a ring of its own.
//
// wants() is all that it costs while it is off: one look at a word that nobody writes. Switched on and off by /proc/trace, read
// by /dev/trace (docs/tracing.md). write(): the core itself, of what is wanted, interrupts off, any lock; not in an NMI.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "arch/processor.h"
#include "lib/result.h"
#include "trace/head.h"
#include "trace/ring.h"
#include "trace/stamp.h"

namespace corral::trace {

// Bits of Event. What is wanted here has a ring with memory to go to.
extern constinit Atomic<u32> wanted_events;

[[nodiscard]] inline bool wants(Event event) {
  return (wanted_events.load(Order::acquire) >> static_cast<u32>(event) & 1) != 0;
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

// Which events are wanted from now on; all rings have memory if any are. Any core, from a step; one caller at a time.
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

// Puts a record into this core's ring: its stamp, its head (trace/head.h) and its data, word by word. As few instructions as there can
// be, and all of them in its caller.
template <class... Word>
void write_words(u64 stamp, u64 head, Word... data) {
  static_cast<Ring<>*>(arch::core_trace_ring())->write(stamp, head, data...);
}

template <class Data>
void write_at(u64 stamp, Event event, u8 detail, i32 thread, const Data& data) {
  static_assert(sizeof(Data) <= sizeof(Record::data));
  constexpr u64 count = (sizeof(Data) + sizeof(u64) - 1) / sizeof(u64);
  u64 word[count];
  word[count - 1] = 0;
  __builtin_memcpy(word, &data, sizeof data);
  [&]<u64... I>(std::index_sequence<I...>) {
    write_words(stamp, head_of(event, detail, thread), word[I]...);
  }(std::make_index_sequence<count>{});
}

template <class Data>
void write(Event event, u8 detail, i32 thread, const Data& data) {
  write_at(stamp(), event, detail, thread, data);
}

}  // namespace corral::trace
