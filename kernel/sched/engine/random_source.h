// Random numbers for policies: the processor's where it has some, else a generator seeded from the clock. Not for secrets.
#pragma once

#include "lib/types.h"

namespace corral::random_source {

// Any core, any context; no lock.
[[nodiscard]] u64 next();
// From now on the numbers are those that follow `seed`, for runs that must repeat (in order, one core at a time).
void use_seed(u64 seed);

}  // namespace corral::random_source
