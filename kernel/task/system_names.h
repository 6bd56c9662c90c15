// The names of the machine: that of the host and that of its domain (uname(2), sethostname(2)). Any thread; a lock of their own, which is
// a leaf.
#pragma once

#include <string_view>

#include "lib/types.h"

namespace corral::system_names {

inline constexpr u64 longest = 64;  // __NEW_UTS_LEN
inline constexpr std::string_view release = "6.1.0-corral";  // programs choose by it what they use
inline constexpr std::string_view build = "#1 SMP Corral";

enum class Name : u8 { host, domain };

struct Text {
  char bytes[longest + 1] = {};  // NUL-terminated
};

[[nodiscard]] Text get(Name name);
void set(Name name, const Text& text);

}  // namespace corral::system_names
