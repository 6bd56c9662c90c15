// What a guest and the emulator's cache model (lab/plugin/) tell each other: marks in the guest's code, and a page of the guest's
// kernel in which the model counts (docs/cache-model.md). Nobody but the model takes notice of a mark: it is two instructions that
// do nothing.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral::cache_model {

// ---- marks ---------------------------------------------------------------------------------------------------------------------
// x86-64: `nopl mark_word + MARK(%rax,%rax,1)` and `nopl OPERAND(%rax,%rax,1)`, 8 bytes each, together at an address that 16
// divides, so that no page ends between them.
enum class Mark : u32 {
  seat = 1,  // operand: the address of the kernel's Page. This core is the one in Page::asking, and counts there from now on
  runs =
      2,  // whoever this core's seat names runs on it from now on; thread 0: nobody, and the name is that of who did until now
  start = 3,  // a region of interest begins, with empty caches
  stop = 4,  // ... and ends
  reset = 5,  // all sums of the report begin at 0 again; those in the page go on
  dump = 6,  // operand: a number. The report as it is at this moment
};
inline constexpr u32 mark_word = 0x4361'6300;  // "Cac", then the mark
inline constexpr u32 mark_bytes = 16;

// ---- the page ------------------------------------------------------------------------------------------------------------------
enum class Event : u32 {
  instructions,
  cycles,  // one for each instruction, and what refills cost
  accesses,  // of data: each load and each store, of 8 bytes at most
  refills,  // lines that the core's own cache had to fetch
  l2_refills,  // of those, lines that the shared cache had to fetch as well
  snoops,  // accesses for which another core had to give up a line, or its right to write it
};
inline constexpr u32 events = 6;
inline constexpr const char* event_names[events] = {"instructions", "cycles", "accesses", "refills", "l2_refills", "snoops"};

enum class Mode : u32 { user, kernel };
inline constexpr u32 modes = 2;

// What happened on one core since it began. One writer: the emulated core itself, between two instructions of the guest.
class Sums {
 public:
  [[nodiscard]] u64 of(Mode mode, Event event) const { return at(mode, event).load(Order::relaxed); }
  void add(Mode mode, Event event, u64 number) {
    Atomic<u64>& sum = values_[static_cast<u32>(mode)][static_cast<u32>(event)];
    sum.store(sum.load(Order::relaxed) + number, Order::relaxed);
  }
  // Goes on counting from where `other` is.
  void continue_from(const Sums& other) {
    for (u32 mode = 0; mode < modes; ++mode) {
      for (u32 event = 0; event < events; ++event) {
        values_[mode][event].store(other.values_[mode][event].load(Order::relaxed), Order::relaxed);
      }
    }
  }

 private:
  [[nodiscard]] const Atomic<u64>& at(Mode mode, Event event) const {
    return values_[static_cast<u32>(mode)][static_cast<u32>(event)];
  }
  Atomic<u64> values_[modes][events];
};

inline constexpr u32 name_bytes = 16;

struct alignas(2 * cache_line) Seat {
  Sums sums;
  // ---- written by the kernel on this core, before the mark `runs` ----
  Atomic<u64> thread;  // its number; 0: none, the kernel alone
  char name[name_bytes];  // ends with a zero byte
};
static_assert(sizeof(Seat) == 128);

inline constexpr u32 most_cores = 64;
inline constexpr u32 version = 1;

struct alignas(page_size) Page {
  u32 version;  // the kernel's, before the mark `seat`
  u32 asking;  // the kernel: the core, and with it the seat, of the mark `seat` that comes next
  u32 answer;  // the model: its version, if it is the same as the kernel's; 0: nobody answered
  u32 l1_bytes, l2_bytes, line_bytes;  // the model: of the caches
  Seat seats[most_cores];
};

}  // namespace corral::cache_model
