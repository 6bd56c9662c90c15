// Corral's own system calls, in a range that Linux does not use. Wrapped for programs by libcorral.
#pragma once

#include "abi/linux/call.h"

namespace corral::abi {

inline constexpr u64 own_calls_first = 0x4000;

// The handler of an own call; null: no such call.
[[nodiscard]] Handler own_call(u64 number);

}  // namespace corral::abi
