// The lists of all scheduling policies: the linker gathered them, this file looks names up. Pure, any context.
#include "sched/registry.h"

#include "sched/grouping_method.h"
#include "sched/migration_policy.h"
#include "sched/placement_policy.h"
#include "sched/scheduling_algorithm.h"

// Weak: a program without any policy of one kind links as well and gets an empty list.
extern "C" {
extern const corral::sched::AlgorithmDescriptor* const __start_corral_algorithms[] __attribute__((weak, visibility("hidden")));
extern const corral::sched::AlgorithmDescriptor* const __stop_corral_algorithms[] __attribute__((weak, visibility("hidden")));
extern const corral::sched::PlacementDescriptor* const __start_corral_placements[] __attribute__((weak, visibility("hidden")));
extern const corral::sched::PlacementDescriptor* const __stop_corral_placements[] __attribute__((weak, visibility("hidden")));
extern const corral::sched::MigrationDescriptor* const __start_corral_migrations[] __attribute__((weak, visibility("hidden")));
extern const corral::sched::MigrationDescriptor* const __stop_corral_migrations[] __attribute__((weak, visibility("hidden")));
extern const corral::sched::GroupingDescriptor* const __start_corral_groupings[] __attribute__((weak, visibility("hidden")));
extern const corral::sched::GroupingDescriptor* const __stop_corral_groupings[] __attribute__((weak, visibility("hidden")));
}

namespace corral::sched {

namespace {

template <class Descriptor>
const Descriptor* find(std::span<const Descriptor* const> descriptors, std::string_view name) {
  for (const Descriptor* descriptor : descriptors) {
    if (name == descriptor->name) return descriptor;
  }
  return nullptr;
}

}  // namespace

std::span<const AlgorithmDescriptor* const> algorithms() {
  return {__start_corral_algorithms, __stop_corral_algorithms};
}

std::span<const PlacementDescriptor* const> placements() {
  return {__start_corral_placements, __stop_corral_placements};
}

std::span<const MigrationDescriptor* const> migrations() {
  return {__start_corral_migrations, __stop_corral_migrations};
}

std::span<const GroupingDescriptor* const> groupings() {
  return {__start_corral_groupings, __stop_corral_groupings};
}

const AlgorithmDescriptor* find_algorithm(std::string_view name) {
  return find(algorithms(), name);
}
const PlacementDescriptor* find_placement(std::string_view name) {
  return find(placements(), name);
}

}  // namespace corral::sched
