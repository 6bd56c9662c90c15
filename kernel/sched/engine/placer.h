// Placer: the engine round the placement policy, without the machine. Chooses a core for a new or woken entity, checks the
// policy's answer, and counts entities that travel between cores, so that placements in quick succession see each other.
//
// Every call of the policy is guarded; one that does wrong is replaced by the engine's own (docs/safety.md).
//
// Every policy is constructed once and kept for ever, so changing the policy is one atomic store and no core can
// find the old object gone.
// Context: choose(), assign(), forget(): any core, interrupts off, by who owns the entity at that moment; no locks.
#pragma once

#include "sched/core_statistics.h"
#include "sched/engine/misdeed.h"
#include "sched/engine/safe_policies.h"
#include "sched/placement_policy.h"

namespace corral::sched {

// Asks a policy for the Placer. no_core: it failed, or answered what is no candidate.
class PlacementAsker {
 public:
  virtual CoreId ask(const PlacementDescriptor& descriptor, const TunableValues& values, const PlacementRequest& request,
                     std::span<const CoreStatistics> cores) = 0;

 protected:
  ~PlacementAsker() = default;
};

class Placer {
 public:
  static constexpr u32 max_policies = 32;

  constexpr explicit Placer(u64 (*random)()) : random_{random} {
    safe_.view.cores = statistics_;
    safe_.view.random = random;
  }

  // Boot context. Makes the policy in `storage` (size bytes as the descriptor says, alignment 64, kept for ever).
  // False: more than max_policies, or it could not be made.
  bool add(const PlacementDescriptor& descriptor, void* storage);
  // Told, on the core that asked, that the policy in use was replaced. Boot context.
  using FallbackListener = void (*)(const PlacementDescriptor& failed, const TunableValues& values, Misdeed misdeed,
                                    const SchedulingEntity& entity, CoreId here, Instant now);
  void set_listener(FallbackListener listener) { listener_ = listener; }
  // No core from `count` on is ever a candidate: sets are looked at that far. One at a time; never less than before.
  void expect_cores(u32 count) { words_.store((count + 63) / 64, Order::relaxed); }
  // From now on `asker` asks the policies; null: the Placer itself does.
  void ask_by(PlacementAsker* asker) { asker_.store(asker, Order::release); }
  // Any core, one at a time. False: the policy has not been added.
  bool use(const PlacementDescriptor& descriptor, const TunableValues& values);
  [[nodiscard]] const PlacementDescriptor& current() const;
  [[nodiscard]] const TunableValues& current_values() const { return current_.load(Order::acquire)->values; }
  [[nodiscard]] bool ready() const { return current_.load(Order::acquire) != nullptr; }

  // A core of `candidates` (not empty). `here`: the asking core. The policy is asked for the timeline's entities;
  // those of the real-time class have a rule of their own (real_time/placement.h).
  [[nodiscard]] CoreId choose(const SchedulingEntity& entity, PlacementReason reason, const CoreSet& candidates, CoreId here,
                              Instant now);
  // The core of `candidates` where `entity`, of the real-time class, would run at once; CoreId{max_cores}: none.
  [[nodiscard]] CoreId lowest_below(const SchedulingEntity& entity, const CoreSet& candidates) const;
  // `entity`, in no queue, is to be enqueued on `to` next. Replaces an earlier assignment that has not arrived.
  void assign(SchedulingEntity& entity, CoreId to, CoreId here);
  // `entity` will not arrive where it was assigned to.
  void forget(SchedulingEntity& entity);

  [[nodiscard]] CoreStatistics& statistics(CoreId core) { return statistics_[core.value]; }
  [[nodiscard]] const CoreStatistics& statistics(CoreId core) const { return statistics_[core.value]; }
  [[nodiscard]] constexpr std::span<const CoreStatistics> all_statistics() const { return statistics_; }
  // How often a policy had to be replaced or its answer corrected since start.
  [[nodiscard]] u64 violations() const { return violations_.load(Order::relaxed); }

 private:
  struct Entry {
    const PlacementDescriptor* descriptor = nullptr;
    PlacementPolicy* policy = nullptr;
    TunableValues values;  // any
    SystemView view{{}, nullptr, values};
  };

  CoreId choose_safely(const PlacementRequest& request, const Entry& failed, Misdeed misdeed);

  u64 (*random_)();
  FallbackListener listener_ = nullptr;     // boot, then constant
  SafePlacement safe_policy_;
  Entry safe_{&SafePlacement::descriptor, &safe_policy_, {}};  // in use after a failure
  Entry entries_[max_policies];             // boot, then constant but for the values
  u32 count_ = 0;                           // boot, then constant
  Atomic<const Entry*> current_{nullptr};   // any
  Atomic<PlacementAsker*> asker_{nullptr};  // any
  Atomic<u64> violations_{0};               // any
  Atomic<u32> words_{CoreSet::words};       // of candidates
  CoreStatistics statistics_[max_cores];    // see there
};

}  // namespace corral::sched
