// Division of 128-bit numbers, which compilers call by this name (libgcc's and compiler-rt's interface). Times are scaled
// with such products; nobody divides wide numbers on a short path. Any context.
#include "lib/types.h"

namespace {

using Wide = unsigned __int128;

unsigned leading_zeros(Wide value) {
  const auto high = static_cast<corral::u64>(value >> 64);
  const auto low = static_cast<corral::u64>(value);
  return high != 0 ? static_cast<unsigned>(__builtin_clzll(high)) : 64 + static_cast<unsigned>(__builtin_clzll(low));
}

}  // namespace

extern "C" {
Wide __udivti3(Wide dividend, Wide divisor);

// As at school, in binary. Division by zero traps, as for narrower numbers.
Wide __udivti3(Wide dividend, Wide divisor) {
  if (static_cast<corral::u64>(dividend >> 64) == 0 && static_cast<corral::u64>(divisor >> 64) == 0) {
    return static_cast<corral::u64>(dividend) / static_cast<corral::u64>(divisor);
  }
  if (divisor == 0) __builtin_trap();
  if (divisor > dividend) return 0;
  unsigned shift = leading_zeros(divisor) - leading_zeros(dividend);
  Wide quotient = 0;
  divisor <<= shift;
  for (unsigned bit = shift + 1; bit > 0; --bit) {
    quotient <<= 1;
    if (dividend >= divisor) {
      dividend -= divisor;
      quotient |= 1;
    }
    divisor >>= 1;
  }
  return quotient;
}
}
