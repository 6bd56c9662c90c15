// Seals of a file in memory: what nobody may do with it any more. Numbers as in Linux's fcntl(2), F_ADD_SEALS.
#pragma once

#include "lib/types.h"

namespace corral::fs {

inline constexpr u32 seal_seal = 1, seal_shrink = 2, seal_grow = 4, seal_write = 8, seal_future_write = 16;
inline constexpr u32 all_seals = 31;
// Nobody may write its contents, except by mappings that there are already.
inline constexpr u32 seals_against_writing = seal_write | seal_future_write;

}  // namespace corral::fs
