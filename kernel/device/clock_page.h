// What programs are told of the machine's clock: a page that every process can read, and that the vDSO (user/vdso/) turns
// into times without a system call. Built into the kernel, which writes it, and into the vDSO, which reads it.
//
// One writer at a time (device/clock.cpp holds a lock); readers on all cores, in user mode, that never make it wait: a sequence number is odd
// while the words are being changed, and who finds it changed reads again. ("Sequence lock": Lameter, Effective
// synchronization on Linux/NUMA systems, 2005; fences as Boehm, Can seqlocks get along with programming language
// memory models?, 2012.)
#pragma once

#include "device/clock_scale.h"
#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

struct ClockFacts {
  u64 by_counter = 0;  // 1: the time-stamp counter is the machine's clock; 0: only the kernel can tell the time
  u64 start_ticks = 0;  // the counter stood here …
  i64 start_ns = 0;  // … at this time since boot
  ClockScale scale;
  i64 wall_time_at_boot = 0;  // ns since 1970
};

class ClockPage {
 public:
  void write(const ClockFacts& facts) {
    u64 words[count];
    __builtin_memcpy(words, &facts, sizeof facts);
    const u32 before = sequence_.load(Order::relaxed);
    sequence_.store(before + 1, Order::relaxed);
    fence(Order::release);
    for (u32 i = 0; i < count; ++i) words_[i].store(words[i], Order::relaxed);
    sequence_.store(before + 2, Order::release);
  }

  // False: it is being changed; try again.
  [[nodiscard]] bool read(ClockFacts& facts) const {
    const u32 before = sequence_.load(Order::acquire);
    u64 words[count];
    for (u32 i = 0; i < count; ++i) words[i] = words_[i].load(Order::relaxed);
    fence(Order::acquire);
    if (before % 2 != 0 || sequence_.load(Order::relaxed) != before) return false;
    __builtin_memcpy(&facts, words, sizeof facts);
    return true;
  }

  // RDTSCP gives the number of the core. Set before any program runs.
  void set_core_by_instruction(bool can) { core_by_instruction_.store(can ? 1 : 0, Order::relaxed); }
  [[nodiscard]] bool core_by_instruction() const { return core_by_instruction_.load(Order::relaxed) != 0; }

 private:
  static constexpr u32 count = sizeof(ClockFacts) / 8;
  static_assert(sizeof(ClockFacts) % 8 == 0);

  Atomic<u32> sequence_{0};
  Atomic<u32> core_by_instruction_{0};
  Atomic<u64> words_[count];
};

}  // namespace corral
