// What programs are told of the processor's abilities, by the names that Linux has for them (/proc/cpuinfo, `flags`).
#pragma once

#include <span>
#include <string_view>

#include "lib/types.h"

namespace corral::arch {

// All names fit into so many characters.
inline constexpr size_t feature_names_size = 1200;
// Those of what is there and offered to programs, in Linux's order, a blank before each. Any context after initialise_processor().
[[nodiscard]] std::string_view feature_names(std::span<char> to);

}  // namespace corral::arch
