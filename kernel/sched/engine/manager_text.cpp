// The part of the SchedulingManager that tells of itself: /proc/sched.
#include "device/clock.h"
#include "lib/format.h"
#include "sched/engine/change_note.h"
#include "sched/engine/counting.h"
#include "sched/engine/manager.h"
#include "sched/policy_choice.h"

namespace corral {

// The tunables of the timeline that all have, and the choices of cores that have another one, as they would be written.
size_t SchedulingManager::describe_timelines(char* to, size_t size) const {
  size_t used = 0;
  const auto line = [&](std::string_view format, const auto&... arguments) {
    used += format_to({to + used, size - used}, format, arguments...).size();
  };
  const sched::AlgorithmDescriptor* common = nullptr;
  sched::TunableValues values;
  {
    LockGuard guard{lock_};
    common = algorithm_.load(Order::relaxed);
    values = tunables_;
  }
  describe_tunables(*common, values, tick_, line);
  cores().for_each([&](CoreId core) {
    const sched::AlgorithmDescriptor* own = nullptr;
    sched::TunableValues own_values;
    {
      LockGuard guard{lock_};
      own = scheduler(core)->chosen_;
      own_values = scheduler(core)->chosen_values_;
    }
    if (own == common && values == own_values) return;
    line("timeline of core {}: {}", core, own->name);
    for (size_t i = 0; i < own->tunables.size(); ++i) {
      const sched::Tunable& tunable = own->tunables[i];
      char room[64];
      line("{}{}={}", i == 0 ? ":" : ",", tunable.name,
           write_value(tunable, tunable.as_shown(own_values.number(i), tick_), room));
    }
    line("\n");
  });
  return used;
}

size_t SchedulingManager::describe_scheduling(char* to, size_t size) const {
  size_t used = 0;
  const auto line = [&](std::string_view format, const auto&... arguments) {
    used += format_to({to + used, size - used}, format, arguments...).size();
  };
  line("algorithm {}:", algorithm_name());
  for (const sched::AlgorithmDescriptor* descriptor : sched::algorithms()) line(" {}", descriptor->name);
  line("\nplacement {}:", placement_name());
  for (const sched::PlacementDescriptor* descriptor : sched::placements()) line(" {}", descriptor->name);
  line("\nmigration {}:", migration_name());
  for (const sched::MigrationDescriptor* descriptor : sched::migrations()) line(" {}", descriptor->name);
  line("\ngroups {}:", groups_name());
  for (const sched::GroupingDescriptor* descriptor : sched::groupings()) line(" {}", descriptor->name);
  line("\n");
  used += describe_queues(to + used, size - used);
  used += describe_timelines(to + used, size - used);
  const sched::PlacementSlot& placement = placer_.policies().in_force();
  const sched::MigrationSlot& migration = migrator_.policies().in_force();
  describe_tunables(*placement.descriptor, placement.values, tick_, line);
  describe_tunables(*migration.descriptor, migration.values, tick_, line);
  used += describe_groups(to + used, size - used);
  line("tick {} ns\nplacement violations {}\nmigration violations {}\ngroups violations {}\nmasks widened {}\n", tick_,
       placer_.policies().violations(), migrator_.policies().violations(), groups_.violations(), widened_.load(Order::relaxed));
  line("changes of policies {}\n", changes_.load(Order::relaxed));
  line("invariants violated {}\n", invariants::count());
  line("core algorithm runnable coming   weight   switches preemptions   moved_in  moved_out         idle_ns violations\n");
  const Instant now = clock::now();
  cores().for_each([&](CoreId core) {
    const sched::CoreStatistics& numbers = statistics(core);
    const Scheduler& timeline = *scheduler(core);
    line("{4} {9} {8} {6} {8} {10} {11} {10} {10} {15} {10}\n", core, timeline.algorithm().name, numbers.runnable(),
         numbers.on_the_way(), numbers.load_weight(), numbers.switches.load(Order::relaxed),
         numbers.preemptions.load(Order::relaxed), numbers.migrations_in.load(Order::relaxed), numbers.migrations_out(),
         numbers.idle_time(now), timeline.violations().total());
  });
  used += sched::counting::describe(to + used, size - used);
  cores().for_each([&](CoreId core) {
    const sched::ResourceUse use = statistics(core).resources();
    if (use.known()) line("resources of core {}: pages {} memory-bound {}\n", core, use.pages(), use.memory_bound());
  });
  cores().for_each([&](CoreId core) {
    const sched::Migrator::Counts& counts = migrator_.counts(core);
    const auto of = [](const Atomic<u64>& count) { return count.load(Order::relaxed); };
    line("migrations of core {}: pushed {} asked {} given {} refused {} offered {}\n", core, of(counts.pushed),
         of(counts.asked), of(counts.given), of(counts.refused), of(counts.offered));
  });
  cores().for_each(
      [&](CoreId core) { line("waited on core {} beside idle ones: {}\n", core, scheduler(core)->waited_beside_idle().ns); });
  return used;
}

}  // namespace corral
