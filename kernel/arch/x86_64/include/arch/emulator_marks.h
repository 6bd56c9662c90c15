// Marks for the emulator's cache model (lib/cache_model.h, docs/cache-model.md): instructions that do nothing for anybody else. Contract:
// the same names in every arch/<name>/include/arch/emulator_marks.h.
#pragma once

#include "lib/cache_model.h"

namespace corral::arch {

// Any context. `Operand`: an object of the kernel's image, whose address goes with the mark; what the model writes to it is there
// when this returns.
template <cache_model::Mark Which, auto* Operand>
inline void leave_mark() {
  asm volatile(".balign 16\n\tnopl %c0(%%rax,%%rax,1)\n\tnopl %c1(%%rax,%%rax,1)"
               :
               : "i"(cache_model::mark_word + static_cast<u32>(Which)), "i"(Operand)
               : "memory");
}

}  // namespace corral::arch
