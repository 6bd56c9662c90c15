// Modes of fallocate: bits as in Linux's fallocate(2).
#pragma once

#include "lib/types.h"

namespace corral::fs {

inline constexpr u32 allocate_keep_size = 1, allocate_punch_hole = 2, allocate_collapse = 8, allocate_zero = 16,
                     allocate_insert = 32, allocate_unshare = 64;
inline constexpr u32 all_allocation_modes = 1 | 2 | 8 | 16 | 32 | 64;

}  // namespace corral::fs
