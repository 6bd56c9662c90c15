// The end of the road: a bug or a machine that cannot go on. Stops every core, shows registers and a symbolised
// backtrace on every console and `corral: panic …` on the debug port, and halts (or powers off: panic=off).
// Bad user input, a bad program or missing memory never come here.
#pragma once

#include <source_location>
#include <string_view>

#include "arch/trap_frame.h"

namespace corral {

[[noreturn]] void panic(const char* message, std::source_location where = std::source_location::current());

// With the registers of what was interrupted, and the backtrace from there.
[[noreturn]] void panic_with_frame(const char* message, const arch::TrapFrame& frame,
                                   std::source_location where = std::source_location::current());

// What rooms above do for a panic; each may be null. Called with interrupts off and locks possibly broken.
struct PanicHooks {
  void (*halt_others)() = nullptr;                // stops every other core
  void (*verdict)(std::string_view text) = nullptr;  // writes to the debug port
  void (*account)() = nullptr;                    // says there what was wrong before; after the verdict
  void (*power_off)() = nullptr;                  // returns if it cannot
};
void set_panic_hooks(const PanicHooks& hooks);   // boot context
enum class PanicAction : unsigned char { halt, power_off };
void set_panic_action(PanicAction action);       // boot context
[[nodiscard]] bool panicking();
[[nodiscard]] bool panicking_here();  // it is the calling core that speaks

// Kept in every build: the cost is a compare and a branch, and a wrong kernel is worse than a stopped one.
#define KERNEL_ASSERT(condition)                        \
  do {                                                  \
    if (!(condition)) [[unlikely]]                      \
      ::corral::panic("assertion failed: " #condition); \
  } while (false)

}  // namespace corral
