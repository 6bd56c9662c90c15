// The end of the road: a bug or a machine that cannot go on. Stops every core, shows registers and a symbolised
// backtrace on every console and `corral: panic …` on the debug port, and halts (or powers off: panic=off).
// Bad user input, a bad program or missing memory never come here.
#pragma once

#include <source_location>

namespace corral {

[[noreturn]] void panic(const char* message, std::source_location where = std::source_location::current());

// Kept in every build: the cost is a compare and a branch, and a wrong kernel is worse than a stopped one.
#define KERNEL_ASSERT(condition) \
  do {                           \
    if (!(condition)) [[unlikely]] ::corral::panic("assertion failed: " #condition); \
  } while (false)

}  // namespace corral
