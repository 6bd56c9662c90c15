// a × b / c without overflow in between. (The compiler's own 128-bit division is a library call that a kernel does not have.)
#pragma once

#include "lib/types.h"

namespace corral {

// c above 0. A quotient that does not fit 64 bits becomes the largest.
constexpr u64 multiply_divide(u64 a, u64 b, u64 c) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  u64 high = static_cast<u64>(product >> 64);
  u64 low = static_cast<u64>(product);
  if (high >= c) return ~u64{0};
  for (u32 i = 0; i < 64; ++i) {  // long division, one bit at a time: high is the remainder so far
    const bool carry = (high >> 63) != 0;
    high = (high << 1) | (low >> 63);
    low <<= 1;
    if (carry || high >= c) {
      high -= c;
      low |= 1;
    }
  }
  return low;
}
static_assert(multiply_divide(10, 10, 3) == 33);
static_assert(multiply_divide(~u64{0}, ~u64{0}, ~u64{0}) == ~u64{0});
static_assert(multiply_divide(~u64{0}, 7, 9) == 14347467612885206811u);

}  // namespace corral
