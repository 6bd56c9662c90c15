// See policies.h.
#include "policies.h"

#include <stdexcept>

#include "sched/policy_choice.h"

namespace corral::sim {

namespace {

[[noreturn]] void refuse(const std::string& what, const sched::Refusal& why) {
  throw std::invalid_argument{what + ": " + std::string{why.view()}};
}

}  // namespace

// The only one of its kind.
template <class Slots, class Descriptor>
void Policies::put_in(Slots& slots, const Descriptor& descriptor, const sched::TunableValues& values) {
  storage_.push_back(std::make_unique<Storage>(Slots::room_for(descriptor.size)));
  if (!slots.add(descriptor, storage_.back()->get()) || !slots.use(descriptor, values)) {
    throw std::logic_error{"the first policy is one too many"};
  }
}

bool global_queue_named(const std::string& text) {
  sched::Refusal why;
  bool global = false;
  if (!sched::choose_queues(text, global, why)) refuse("queues", why);
  return global;
}

Partition::Partition(const std::string& text, u32 cores, Duration tick) {
  sched::Refusal why;
  configuration.method = sched::choose_grouping(text, tick, configuration.values, why);
  if (configuration.method == nullptr) refuse("groups", why);
  if (configuration.method->method == nullptr) return;
  real_time = sched::CoreGroups::share(configuration, cores, 0, why);
  if (real_time == 0) refuse("groups", why);
}

Policies::Policies(const PolicyNames& names, u32 cores, Duration tick, u64 (*random)())
    : placer_{std::make_unique<sched::Placer>(random)},
      migrator_{std::make_unique<sched::Migrator>(random, placer_->all_statistics(), &placer_->policies())} {
  sched::Refusal why;
  sched::TunableValues for_algorithm, for_placement, for_migration;
  algorithm_ = sched::choose_algorithm(names.algorithm, tick, for_algorithm, why);
  if (algorithm_ == nullptr) refuse("algorithm", why);
  const sched::PlacementDescriptor* placement = sched::choose_placement(names.placement, tick, for_placement, why);
  if (placement == nullptr) refuse("placement", why);
  const sched::MigrationDescriptor* migration = sched::choose_migration(names.migration, tick, for_migration, why);
  if (migration == nullptr) refuse("migration", why);
  put_in(placer_->policies(), *placement, for_placement);
  put_in(migrator_->policies(), *migration, for_migration);
  if (algorithm_->holds_back != nullptr) holds_back_ = algorithm_->holds_back({CoreId{0}, tick, for_algorithm});
  for (u32 core = 0; core < cores; ++core) {
    storage_.push_back(std::make_unique<Storage>(algorithm_->size));
    algorithms_.push_back(algorithm_->make(storage_.back()->get(), {CoreId{core}, tick, for_algorithm}));
  }
}

Policies::~Policies() {
  for (sched::SchedulingAlgorithm* algorithm : algorithms_) algorithm->~SchedulingAlgorithm();
}

}  // namespace corral::sim
