// Port 0xE9: what is written there appears on the host under QEMU (isa-debugcon) and Bochs (port_e9_hack); nothing
// happens on a real machine. For words to the tools outside, not for people. Any context; never waits.
#pragma once

#include <string_view>

#include "arch/port_io.h"

namespace corral::platform {

inline void write_debug_port(std::string_view text) {
  for (char c : text) arch::port_write8(0xe9, static_cast<u8>(c));
}

}  // namespace corral::platform
