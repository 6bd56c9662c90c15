#include "sched/engine/random_source.h"

#include "arch/processor.h"
#include "device/clock.h"
#include "lib/atomic.h"
#include "lib/random.h"

namespace corral::random_source {

namespace {

constinit Atomic<u64> state{0};
constinit Atomic<bool> seeded{false};

// A counter, mixed: one atomic addition for each number, so that any number of cores may draw.
u64 next_of_generator() {
  return mix(state.fetch_add(1, Order::relaxed));
}

}  // namespace

u64 next() {
  u64 value;
  if (!seeded.load(Order::relaxed)) {
    if (arch::hardware_random(value)) return value;
    state.fetch_add(static_cast<u64>(clock::now().ns) ^ (arch::cycle_counter() << 20), Order::relaxed);
  }
  return next_of_generator();
}

void use_seed(u64 seed) {
  state.store(seed, Order::relaxed);
  seeded.store(true, Order::relaxed);
}

}  // namespace corral::random_source
