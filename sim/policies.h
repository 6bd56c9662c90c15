// The objects of the chosen policies: an algorithm for each core, a placement and a migration for all.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "sched/engine/core_groups.h"
#include "sched/engine/migrator.h"
#include "sched/engine/placer.h"
#include "sched/engine/run_queue.h"

namespace corral::sim {

// Names as on the kernel's command line (sched/policy_choice.h).
struct PolicyNames {
  std::string algorithm = sched::default_algorithm;
  std::string placement = sched::default_placement;
  std::string migration = sched::default_migration;
  std::string groups = sched::default_grouping;
  std::string queues = "per-core";
};

// Whether `text`, sched.queues= on the command line, names the global queue. std::invalid_argument: it names nothing.
[[nodiscard]] bool global_queue_named(const std::string& text);

// Storage for what a descriptor makes.
class Storage {
 public:
  explicit Storage(size_t size) : memory_{::operator new(size, alignment)} {}
  ~Storage() { ::operator delete(memory_, alignment); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  [[nodiscard]] void* get() const { return memory_; }

 private:
  static constexpr std::align_val_t alignment{cache_line};
  void* memory_;
};

// How the cores are partitioned as `text` says, sched.groups= on the command line; for CoreGroups::begin().
struct Partition {
  // std::invalid_argument: there is no such method, or the ratio leaves a class without a core.
  Partition(const std::string& text, u32 cores, Duration tick);
  sched::CoreGroups::Configuration configuration;
  u32 real_time = 0;  // cores of that group; 0: there are no groups
};

class Policies {
 public:
  // std::invalid_argument: there is no such policy, or it has no such tunable; says what there is.
  Policies(const PolicyNames& names, u32 cores, Duration tick, u64 (*random)());
  ~Policies();
  Policies(const Policies&) = delete;
  Policies& operator=(const Policies&) = delete;

  // The core's algorithm, in `queue`, which is that core's.
  void install(sched::RunQueue& queue, Instant now) {
    queue.install(*algorithms_[queue.core().value], now, holds_back_, algorithm_->departs);
  }
  [[nodiscard]] const char* algorithm_name() const { return algorithm_->name; }
  [[nodiscard]] sched::Placer& placer() { return *placer_; }
  [[nodiscard]] sched::Migrator& migrator() { return *migrator_; }

 private:
  template <class Slots, class Descriptor>
  void put_in(Slots& slots, const Descriptor& descriptor, const sched::TunableValues& values);

  std::unique_ptr<sched::Placer> placer_;
  std::unique_ptr<sched::Migrator> migrator_;
  std::vector<std::unique_ptr<Storage>> storage_;
  const sched::AlgorithmDescriptor* algorithm_ = nullptr;  // of all cores
  Duration holds_back_{};
  std::vector<sched::SchedulingAlgorithm*> algorithms_;
};

}  // namespace corral::sim
