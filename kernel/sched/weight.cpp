// Load weights of nice values, computed when the kernel is compiled. Pure, any context.
#include <array>

#include "sched/scheduling_entity.h"

namespace corral::sched {

namespace {

constexpr u32 nice_values = static_cast<u32>(nice_highest - nice_lowest + 1);

// 1024 × 1.25^-nice, in fixed point with 20 fractional bits, rounded at the end.
consteval std::array<u32, nice_values> make_weights() {
  std::array<u32, nice_values> weights{};
  for (i32 nice = nice_lowest; nice <= nice_highest; ++nice) {
    u64 weight = u64{weight_of_nice_0} << 20;
    for (i32 i = 0; i > nice; --i) weight = weight * 5 / 4;
    for (i32 i = 0; i < nice; ++i) weight = weight * 4 / 5;
    weights[static_cast<u32>(nice - nice_lowest)] = static_cast<u32>((weight + (u64{1} << 19)) >> 20);
  }
  return weights;
}

constexpr std::array<u32, nice_values> weights = make_weights();
static_assert(weights[20] == weight_of_nice_0 && weights[19] == 1280 && weights[21] == 819);

}  // namespace

u32 weight_of(i32 nice) {
  if (nice < nice_lowest) nice = nice_lowest;
  if (nice > nice_highest) nice = nice_highest;
  return weights[static_cast<u32>(nice - nice_lowest)];
}

}  // namespace corral::sched
