// A set of the values of an enumeration whose values are below 32, in one word. A plain value, any context.
#pragma once

#include "lib/types.h"

namespace corral {

template <class Enum>
class EnumSet {
 public:
  constexpr EnumSet() = default;
  template <class... Values>
  [[nodiscard]] static constexpr EnumSet of(Values... some) {
    EnumSet set;
    (set.add(some), ...);
    return set;
  }
  constexpr void add(Enum value) { bits_ |= bit(value); }
  [[nodiscard]] constexpr bool has(Enum value) const { return (bits_ & bit(value)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  bool operator==(const EnumSet&) const = default;

 private:
  static constexpr u32 bit(Enum value) { return u32{1} << static_cast<u32>(value); }
  u32 bits_ = 0;
};

}  // namespace corral
