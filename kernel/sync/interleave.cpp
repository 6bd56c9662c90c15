// See interleave.h.
#include "sync/interleave.h"

#include "arch/processor.h"

namespace corral::interleave {

namespace {

constexpr i64 shortest_distance_ns = 4'000;
constexpr u32 fewest_powers = 3;  // the longest distance of a seed is 2^3 to 2^7 times 4 microseconds,
constexpr u32 most_powers = 7;    // and then up to twice that
constexpr u32 few_pauses = 4;
constexpr u32 many_pauses = 64;
constexpr u32 between_long_stalls = 16;  // one in so many stalls lets the others get far ahead

struct alignas(cache_line) CorePlan {
  Plan plan;
};
constinit CorePlan plans[max_cores];

}  // namespace

Plan::Plan(u64 seed, u32 core) : random_{mix(seed) ^ core} {
  Random of_seed{mix(seed)};  // the same for all cores
  between_points_ = 1u << (1 + of_seed.below(6));
  longest_distance_ = fewest_powers + static_cast<u32>(of_seed.below(most_powers - fewest_powers + 1));
  between_ends_ = 1u << of_seed.below(6);
}

u32 Plan::pauses() {
  if (!random_.one_in(between_points_)) return 0;
  return 1 + static_cast<u32>(random_.below(random_.one_in(between_long_stalls) ? many_pauses : few_pauses));
}

Duration Plan::distance() {
  // Equally likely in every power of two, so that short ones are as common as long ones.
  const i64 unit = shortest_distance_ns << random_.below(longest_distance_ + 1);
  return nanoseconds(unit + static_cast<i64>(random_.below(static_cast<u64>(unit))));
}

bool Plan::ends_slice() {
  return random_.one_in(between_ends_);
}

namespace detail {

constinit Atomic<bool> on{false};

void give_way() {
  for (u32 left = plan().pauses(); left != 0; --left) arch::pause();
}

}  // namespace detail

void begin(u64 seed) {
  if (seed == 0) return;
  for (u32 core = 0; core < max_cores; ++core) plans[core].plan = Plan{seed, core};
  detail::on.store(true, Order::release);
}

Plan& plan() {
  return plans[arch::core_index()].plan;
}

}  // namespace corral::interleave
