// Size and form of a cache.
#pragma once

#include <bit>
#include <string_view>

#include "lib/types.h"

namespace corral::cache_model {

struct CacheShape {
  u32 size = 0;  // bytes
  u32 ways = 0;  // lines that one address can be in
  u32 line = 64;  // bytes

  [[nodiscard]] constexpr u32 sets() const { return size / line / ways; }
  // Null: such a cache can be; otherwise why not.
  [[nodiscard]] constexpr const char* fault() const {
    if (ways == 0 || ways > 64) return "1 to 64 ways";
    if (!std::has_single_bit(line) || line < 16 || line > 1024) return "lines of a power of two from 16 to 1024 bytes";
    if (size == 0 || size % (line * ways) != 0 || !std::has_single_bit(sets())) return "size / line / ways is a power of two";
    return nullptr;
  }
  bool operator==(const CacheShape&) const = default;
};

// "16K:4:64" or "16K:4": size, ways, bytes of a line (64). False: not of this form; it may still have a fault().
[[nodiscard]] bool parse(std::string_view text, CacheShape& shape);
// "500", "16K" or "2M", up to 2^32 - 1.
[[nodiscard]] bool parse(std::string_view text, u32& number);

}  // namespace corral::cache_model
