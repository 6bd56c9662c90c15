// Turns of cores under -icount: how long they are, and what virtual time makes of them (virtual_time.h). One thread.
#pragma once

#include <vector>

#include "parameters.h"
#include "virtual_time.h"

namespace corral::cache_model {

class Turns {
 public:
  Turns(u32 cores, const Parameters& parameters)
      : time_{cores, parameters.clock}, clock_{parameters.clock}, quantum_{parameters.quantum}, cores_(cores) {}

  // Whether there is anything to do after each block.
  [[nodiscard]] bool wanted() const { return quantum_ != 0 || clock_ != GuestClock::instructions; }
  // Once, when cores have been made: null, or why this QEMU cannot do what is wanted.
  [[nodiscard]] const char* find_out(u32 core);
  // The core begins a block of so many instructions, which QEMU has taken from its budget; before that it has waited for refills.
  void block(u32 core, u64 instructions, u64 stalls);

 private:
  struct Core {
    void* object = nullptr;
    u16* budget = nullptr;
    u64 in_turn = 0;  // cycles
  };
  void let_pass(Core& core, u64 instructions, u64 cycles);

  VirtualTime time_;
  GuestClock clock_;
  u32 quantum_;
  std::vector<Core> cores_;
  u32 current_ = ~u32{0};
  bool ended_ = false;  // the turn of `current_`
};

}  // namespace corral::cache_model
