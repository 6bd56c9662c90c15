// See layout.h.
#include "sched/groups/layout.h"

namespace corral::sched {

namespace {

// Whether the `index`-th of `all` places is one of `chosen` that are spread evenly, beginning with the first.
constexpr bool spread(u32 index, u32 chosen, u32 all) {
  const auto until = [&](u32 places) { return (places * chosen + all - 1) / all; };
  return until(index + 1) > until(index);
}

// The same for pairs of places; the last one may be alone, and is never chosen while another is left. `odd`: one more
// single place, the first of the first pair that is not chosen.
constexpr bool in_pairs(u32 index, u32 chosen, u32 all) {
  const u32 pairs = (all + 1) / 2;
  if (spread(index / 2, chosen / 2, pairs)) return true;
  if (chosen % 2 == 0 || index % 2 != 0) return false;
  for (u32 pair = 0; pair < index / 2; ++pair) {
    if (!spread(pair, chosen / 2, pairs)) return false;
  }
  return true;
}

}  // namespace

CoreSet lay_out(const CoreSet& cores, Layout layout, u32 real_time) {
  const u32 all = cores.count();
  CoreSet chosen;
  u32 index = 0;
  cores.for_each([&](CoreId core) {
    bool is_real_time = false;
    switch (layout) {
      case Layout::grouped: is_real_time = index < real_time; break;
      case Layout::alternate: is_real_time = spread(index, real_time, all); break;
      case Layout::double_alternate: is_real_time = in_pairs(index, real_time, all); break;
    }
    if (is_real_time) chosen.add(core);
    ++index;
  });
  return chosen;
}

}  // namespace corral::sched
