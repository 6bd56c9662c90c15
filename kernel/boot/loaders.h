// The forms in which boot loaders tell what they know. Each reader checks everything before it believes it, and says what is
// wrong in words that name the mend. Boot context; physical memory below 4 GiB is reached through direct().
#pragma once

#include <string_view>

#include "boot/boot_info.h"

namespace corral::boot {

// Empty: `info` is filled (its memory map as given, not yet in order). Otherwise the reason why not.
[[nodiscard]] std::string_view read_pvh(u64 address, BootInfo& info);
[[nodiscard]] std::string_view read_multiboot2(u64 address, BootInfo& info);

inline constexpr u32 pvh_magic = 0x336ec578;         // our own mark in entry.S, and the first word of the start info
inline constexpr u32 multiboot2_magic = 0x36d76289;  // what a Multiboot2 loader leaves in eax

// Copies a command line; too long is cut at the end of a word.
void set_command_line(BootInfo& info, std::string_view text);
// Takes the first module as the initramfs; false when it lies where it cannot be.
bool set_initramfs(BootInfo& info, u64 address, u64 size);

// Text at a physical address, up to the zero byte or `limit` bytes.
[[nodiscard]] std::string_view text_at(u64 address, size_t limit);
// All of [address, address + size) is below 4 GiB, not at 0, and does not wrap.
[[nodiscard]] bool reachable(u64 address, u64 size);

}  // namespace corral::boot
