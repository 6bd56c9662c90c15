// Names of the kernel's functions, for backtraces. The table is made by the build from the linked image and linked in
// at its end (kernel/tools/make_symbols.py); without it every look-up answers "unknown".
// Any context, reads constant memory only.
#pragma once

#include <string_view>

#include "lib/types.h"

namespace corral::symbols {

struct Symbol {
  std::string_view name;  // empty: unknown
  u64 offset = 0;         // from the function's beginning, bytes
};
[[nodiscard]] Symbol find(VirtualAddress address);
[[nodiscard]] size_t count();

}  // namespace corral::symbols
