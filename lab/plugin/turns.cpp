#include "turns.h"

#include <algorithm>

#include "qemu_internals.h"

namespace corral::cache_model {

const char* Turns::find_out(u32 core) {
  if (!wanted()) return nullptr;
  if (!counts_instructions())
    return "quantum and clock need a run whose time counts instructions (-icount; ./corral run --seed N)";
  if (!can_end_turns()) return "quantum and clock need functions that this QEMU does not export";
  Core& own = cores_[core];
  own.object = qemu_get_cpu(static_cast<int>(core));
  own.budget = own.object != nullptr ? find_budget(own.object) : nullptr;
  return own.budget != nullptr ? nullptr : "quantum and clock need a QEMU with the layout of 7.2";
}

void Turns::block(u32 core, u64 instructions, u64 stalls) {
  Core& own = cores_[core];
  const bool new_turn = core != current_ || ended_;
  if (new_turn) own.in_turn = 0;
  current_ = core;
  ended_ = false;
  const u64 cycles = clock_ == GuestClock::instructions ? instructions : instructions + stalls;
  if (clock_ != GuestClock::instructions) let_pass(own, instructions, time_.works(core, cycles, new_turn));
  own.in_turn += cycles;
  if (quantum_ == 0 || own.in_turn < quantum_) return;
  cpu_exit(own.object);
  ended_ = true;
}

// QEMU took `instructions` from the budget; it shall be `cycles`.
void Turns::let_pass(Core& core, u64 instructions, u64 cycles) {
  // An instruction that faults gives back what follows it in the block: room for that.
  const u64 most = 0xffff - instructions;
  u64 budget = *core.budget;
  if (cycles <= instructions) {
    const u64 given_back = std::min(instructions - cycles, most > budget ? most - budget : 0);
    budget += given_back;
    time_.passed(instructions - given_back);
  } else {
    const u64 taken = std::min(cycles - instructions, budget);
    budget -= taken;
    time_.passed(instructions + taken);
  }
  *core.budget = static_cast<u16>(budget);
}

}  // namespace corral::cache_model
