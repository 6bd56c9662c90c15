// Virtual time with refills in it, and with cores that run at the same time. Pure; one thread (under -icount cores take turns in one).
//
// QEMU's virtual time under -icount is the number of instructions of all cores together. Here each core has a clock of its own,
// which counts its instructions and what its refills cost; the machine's time is that of the core that is ahead. What a core does
// until it catches up costs no time.
#pragma once

#include <vector>

#include "lib/types.h"
#include "parameters.h"

namespace corral::cache_model {

class VirtualTime {
 public:
  VirtualTime(u32 cores, GuestClock clock) : clock_{clock}, cores_(cores) {}

  // `core` has worked for so many cycles, the first of its turn if `new_turn`. Answers by how many the machine's time is to go on.
  [[nodiscard]] u64 works(u32 core, u64 cycles, bool new_turn) {
    if (clock_ != GuestClock::parallel) return owed_ += cycles;
    if (new_turn) {
      // Cores take turns in the order of their numbers. Whoever begins in this round has slept, or worked, until it began.
      if (core <= last_) round_ = now_;
      last_ = core;
      if (cores_[core] < round_) cores_[core] = round_;
    }
    cores_[core] += cycles;
    return cores_[core] > now_ ? cores_[core] - now_ : 0;
  }
  // So many of them have gone by.
  void passed(u64 cycles) {
    now_ += cycles;
    owed_ -= owed_ < cycles ? owed_ : cycles;
  }

  [[nodiscard]] u64 now() const { return now_; }

 private:
  GuestClock clock_;
  std::vector<u64> cores_;  // the time of each
  u64 now_ = 0;
  u64 owed_ = 0;  // without parallel time: what has not gone by yet
  u64 round_ = 0;  // now_ when the present round of turns began
  u32 last_ = 0;  // whose turn it is
};

}  // namespace corral::cache_model
