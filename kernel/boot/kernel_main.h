// Where the boot loaders' ways meet: everything is started here, in the order in which a reader meets it.
#pragma once

#include "boot/boot_info.h"

namespace corral {

// Bootstrap core, on the boot stack, interrupts off, on the kernel's own page table (boot/start.cpp).
[[noreturn]] void kernel_main(BootInfo& info);

}  // namespace corral
