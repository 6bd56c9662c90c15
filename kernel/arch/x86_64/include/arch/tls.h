// The user thread's segment bases, which compilers use for thread-local data (arch_prctl, CLONE_SETTLS).
// Own core only, interrupts off; the scheduler sets them when it switches threads.
#pragma once

#include "lib/types.h"

namespace corral::arch {

// A base that a user may set: anything below user_space_end. Others would fault in the processor or open kernel memory.
[[nodiscard]] bool valid_user_base(u64 base);

// FS base of the user thread on this core. `base` must be valid.
void set_user_tls(u64 base);
[[nodiscard]] u64 user_tls();
// GS base of the user thread on this core (the inactive one while the core is in the kernel). `base` must be valid.
void set_user_gs(u64 base);
[[nodiscard]] u64 user_gs();

}  // namespace corral::arch
