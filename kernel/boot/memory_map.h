// Brings a firmware's memory map into order. Pure; boot context. Firmware's lists are unsorted, may overlap, and may hold
// nonsense; what more than one entry claims is usable only if all of them say so.
#pragma once

#include <span>

#include "boot/boot_info.h"

namespace corral::boot {

// Types of the e820 map, which PVH and Multiboot2 both use (ACPI 6.5, table 15.2).
inline constexpr u32 e820_usable = 1;
inline constexpr u32 e820_acpi_tables = 3;
inline constexpr u32 e820_acpi_storage = 4;

// Adds an entry as the loader gives it. False: the list is full, the entry is lost.
bool add_range(BootInfo& info, u64 base, u64 size, u32 type);

// Sorts, takes every part that is not usable out of those that are, joins neighbours. False: the result has more than
// max_ranges pieces; those highest in memory are lost.
bool order_ranges(BootInfo& info);

// Marks reserved ranges that lie between or directly behind usable memory below 4 GiB as reachable (`tables`): some
// firmware puts its tables into memory that it calls just "reserved".
void mark_table_ranges(BootInfo& info);

// Bytes of usable memory.
[[nodiscard]] u64 usable_bytes(const BootInfo& info);
// Whether [base, base + size) lies in usable memory as a whole.
[[nodiscard]] bool is_usable(const BootInfo& info, u64 base, u64 size);
// Whether all of it is usable, or reserved and reachable (`tables`): a loader may lay a module over what the firmware has done with.
[[nodiscard]] bool is_reachable(const BootInfo& info, u64 base, u64 size);

}  // namespace corral::boot
