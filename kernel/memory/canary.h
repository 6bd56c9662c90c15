// What the kernel leaves behind, made visible: with the boot option `memory.canary` everything that is handed out without being
// cleared (pages, blocks, heap objects, the free part of a kernel stack before a step), and every page that is given back,
// is full of one byte, and a copy to a program that would carry it stops the machine. A program that finds the
// pattern anywhere has been given what is not its own: user/probes/canary.cpp looks for it.
// Any context.
#pragma once

#include "lib/types.h"

namespace corral::memory {

inline constexpr u8 canary_byte = 0xa7;
inline constexpr u64 canary_word = 0xa7a7'a7a7'a7a7'a7a7;
// As many of them in a row are no accident: the smallest padding that is looked for.
inline constexpr u64 canary_run = 4;

void use_canaries();  // boot context, before initialise_pages
[[nodiscard]] bool canaries_used();
// Fills [at, at + size) when the option is on.
void lay_canaries(void* at, u64 size);
// Stops the machine when the option is on and `size` bytes for a program have a run of the pattern.
void check_for_canaries(const void* bytes, u64 size);

}  // namespace corral::memory
