// The kernel's page table, built once on the bootstrap core from what boot/ knows, before memory management exists:
// the direct map of physical memory and the kernel image with the rights of its sections. Boot context.
//
// Physical layout (below 4 GiB until said otherwise):
//   page 0            firmware's; never used
//   below 1 MiB       the trampoline of other cores, firmware's data
//   1 MiB             the kernel image: text, rodata, data, bss, symbols (kernel.ld)
//   behind it         the pages of this table, as many as the machine's memory needs (BootInfo::reserved)
//   anywhere          the initramfs, where the loader put it (BootInfo::reserved)
#pragma once

#include "boot/boot_info.h"
#include "lib/types.h"

namespace corral::arch {

// Builds the table in usable memory that `boot` does not reserve yet, adds its pages to boot.reserved, and loads it: from
// then on there is nothing below the kernel half. False: no room for the tables.
[[nodiscard]] bool build_kernel_map(BootInfo& boot);

}  // namespace corral::arch
