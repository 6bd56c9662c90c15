// In the kernel: what a placement decision costs on 8 cores. Every policy is asked in several situations; the debug port is
// told the cycles of the dearest decision, which are instructions where the clock counts those.
#include "arch/processor.h"
#include "kernel_test.h"
#include "lib/format.h"
#include "memory/heap.h"
#include "platform/pc/debug_port.h"
#include "sched/engine/placer.h"
#include "sched/engine/random_source.h"

namespace corral::tests {

namespace {

constexpr u32 cores = 8;
constexpr u32 situations = 7;
constexpr Instant now = Instant{} + seconds(100);

// Memory for one object that is released at the end.
class Storage {
 public:
  explicit Storage(size_t size) : memory_{memory::allocate(round_up(size, cache_line))} {}
  ~Storage() { memory::release(memory_); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  [[nodiscard]] void* get() const { return memory_; }

 private:
  void* memory_;
};

// Situation n: so many of the cores have threads, the others are idle; all of them in the last one.
void arrange(sched::Placer& placer, u32 situation) {
  placer.expect_cores(cores);
  for (u32 i = 0; i < cores; ++i) {
    const u32 threads = i <= situation || situation + 1 == situations ? 1 + (i * 5 + situation) % 3 : 0;
    sched::CoreStatistics& numbers = placer.statistics(CoreId{i});
    numbers.publish(threads, u64{threads} * sched::weight_of_nice_0, 0);
    threads == 0 ? numbers.begin_idle(now - milliseconds(i)) : numbers.end_idle(now - milliseconds(i));
    const u64 pages = u64{100} * i;
    numbers.add_resources({pages, 1000 - 100 * i}, milliseconds(1), pages);
  }
}

// The dearest decision of the policy in use, in cycles; 0: one of them was wrong.
u64 dearest(sched::Placer& placer) {
  u64 most = 0;
  const u64 empty = arch::cycle_counter();
  const u64 of_the_clock = arch::cycle_counter() - empty;
  sched::SchedulingEntity entity;
  entity.last_core = CoreId{1};
  entity.last_ran = now - milliseconds(1);
  const CoreSet candidates = CoreSet::first(cores);
  for (u32 situation = 0; situation < situations; ++situation) {
    arrange(placer, situation);
    // Somebody counts, or nobody does.
    entity.resources.store(situation % 2 == 0 ? sched::ResourceUse{300, 500} : sched::ResourceUse{}, Order::relaxed);
    for (const auto reason : {sched::PlacementReason::created, sched::PlacementReason::woken}) {
      const u64 begin = arch::cycle_counter();
      const CoreId chosen = placer.choose(entity, reason, candidates, CoreId{2}, now);
      const u64 cost = arch::cycle_counter() - begin - of_the_clock;
      if (!candidates.contains(chosen)) return 0;
      most = cost > most ? cost : most;
    }
  }
  return placer.policies().violations() == 0 ? most : 0;
}

}  // namespace

KERNEL_TEST(scheduling_placement_decisions) {
  for (const sched::PlacementDescriptor* policy : sched::placements()) {
    const Storage for_placer{sizeof(sched::Placer)};
    const Storage for_policy{sched::Placer::Policies::room_for(policy->size)};
    KERNEL_EXPECT(for_placer.get() != nullptr && for_policy.get() != nullptr);
    auto& placer = *::new (for_placer.get()) sched::Placer{random_source::next};
    KERNEL_EXPECT(placer.policies().add(*policy, for_policy.get()));
    KERNEL_EXPECT(placer.policies().use(*policy, {*policy, milliseconds(4)}));
    const u64 most = dearest(placer);
    KERNEL_EXPECT(most != 0);
    char line[80];
    platform::write_debug_port(format_to(line, "placement: {} {}\n", policy->name, most));
  }
  KERNEL_PASSED;
}

}  // namespace corral::tests
