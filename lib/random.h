// Random numbers from a seed: the same seed gives the same numbers everywhere, so that a run can be repeated.
// Pure; not synchronised; not for secrets.
// Source: splitmix64 and xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016).
#pragma once

#include "lib/types.h"

namespace corral {

// One step of splitmix64: spreads a seed, or a counter, over all 64 bits.
constexpr u64 mix(u64 value) {
  value += 0x9e37'79b9'7f4a'7c15;
  value = (value ^ (value >> 30)) * 0xbf58'476d'1ce4'e5b9;
  value = (value ^ (value >> 27)) * 0x94d0'49bb'1331'11eb;
  return value ^ (value >> 31);
}

class Random {
 public:
  constexpr explicit Random(u64 seed) : state_{mix(seed)} {
    if (state_ == 0) state_ = 1;  // the one state that xorshift cannot leave
  }
  constexpr u64 next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545'f491'4f6c'dd1d;
  }
  // 0 … bound-1, each equally likely (to one part in 2^32); bound 1 … 2^32.
  constexpr u64 below(u64 bound) { return ((next() >> 32) * bound) >> 32; }
  // True once in `times` on average.
  constexpr bool one_in(u64 times) { return below(times) == 0; }

 private:
  u64 state_;
};

}  // namespace corral
