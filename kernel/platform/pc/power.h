// Switching the machine off and starting it again: by ACPI, then by what emulators and old boards understand.
// Any core, any context, also after a panic: reads only what boot has written. Source: ACPI 6.5, 4.8.3.2, 4.8.3.6, 16.1.
// Neighbour: platform/pc/platform.cpp.
#pragma once

#include "platform/pc/acpi/tables.h"

namespace corral::platform {

// Boot, once: keeps what is needed. `tables` must live for ever.
void prepare_power(const acpi::Tables& tables);
[[noreturn]] void power_off_machine();
[[noreturn]] void reset_machine();

}  // namespace corral::platform
