// Migrator: the engine round the migration policy, without the machine. It asks the policy, checks its answers, knows which
// cores want something to run, and counts what each core did.
//
// A core with nothing to run is *hungry*: a request to all, which stands until the core runs something or one other core
// takes it up (claim()), which then gives it a thread. That nothing is overlooked: a core says that it is hungry before
// it reads what the others have; a core says what it has before it reads who is hungry. So one of the two sees the other.
//
// Every policy is constructed once and kept for ever, as with the Placer. Context: any core, interrupts off; no locks.
#pragma once

#include "sched/migration_policy.h"

namespace corral::sched {

// Why a thread came to another core.
enum class MigrationReason : u8 {
  placed,     // it was woken, and placed there
  mask,       // it may not run where it was any more
  real_time,  // the real-time class's own balance
  pushed,     // it had to go, and that core was emptier
  pulled,     // that core was idle and asked for it
  offered,    // that core was idle, and this one came to have somebody to spare
};

class Migrator {
 public:
  static constexpr u32 max_policies = 32;
  // A policy that wants to be asked again later, is, but not at once: an idle core must not be kept from sleeping.
  static constexpr Duration shortest_pause = microseconds(10);

  // What a core did; written by that core.
  struct alignas(cache_line) Counts {
    Atomic<u64> pushed{0};   // threads that it sent away at the end of their slices
    Atomic<u64> asked{0};    // requests that it made when idle
    Atomic<u64> given{0};    // requests of others that it met
    Atomic<u64> refused{0};  // requests of others that it could not meet
    Atomic<u64> offered{0};  // threads that it gave without being asked
  };

  constexpr explicit Migrator(u64 (*random)(), std::span<const CoreStatistics> cores) : random_{random}, cores_{cores} {}

  // Boot context. Makes the policy in `storage` (size bytes as the descriptor says, alignment 64, kept for ever).
  // False: more than max_policies.
  bool add(const MigrationDescriptor& descriptor, void* storage);
  // Any core, one at a time. False: the policy has not been added.
  bool use(const MigrationDescriptor& descriptor, const TunableValues& values);
  [[nodiscard]] const MigrationDescriptor& current() const { return *current_.load(Order::acquire)->descriptor; }
  [[nodiscard]] const TunableValues& current_values() const { return current_.load(Order::acquire)->values; }
  [[nodiscard]] bool ready() const { return current_.load(Order::acquire) != nullptr; }
  [[nodiscard]] bool pushes() const { return current().pushes; }
  [[nodiscard]] bool pulls() const { return current().pulls; }

  // ---- the policy's answers, checked -----------------------------------------------------------------------------
  // Where a preempted entity goes: a candidate, or no_core: it stays.
  [[nodiscard]] CoreId push_target(const PushRequest& request);
  // Whom an idle core asks, and when: at once if `at` is not after request.now.
  [[nodiscard]] PullAnswer whom_to_ask(const PullRequest& request);
  // From when on a waiting entity may go to an idle core; never for those that no policy is asked about.
  [[nodiscard]] Instant leaves_at(const LeaveRequest& request) const;

  // ---- who is hungry -----------------------------------------------------------------------------------------------
  // The calling core has nothing to run. Before it reads what others have.
  void begin_hunger(CoreId here) {
    if (!hungry_.contains(here, Order::relaxed)) {
      hungry_count_.fetch_add(1, Order::seq_cst);  // first, so that it is never less than there are
      hungry_.add(here, Order::seq_cst);
    }
    fence(Order::seq_cst);
  }
  void end_hunger(CoreId here) { (void)claim(here); }
  // After the calling core has published what it has: the quick look, and then who it is.
  [[nodiscard]] bool somebody_hungry() const {
    fence(Order::seq_cst);
    return hungry_count_.load(Order::relaxed) != 0;
  }
  [[nodiscard]] CoreSet hungry() const { return hungry_.snapshot(Order::relaxed); }
  // The calling core gives `core` a thread, and no other core does. False: it is not hungry any more, or another one does.
  bool claim(CoreId core) {
    const bool taken = hungry_.take(core, Order::acq_rel);
    if (taken) hungry_count_.fetch_sub(1, Order::relaxed);
    return taken;
  }

  [[nodiscard]] Counts& counts(CoreId core) { return counts_[core.value]; }
  [[nodiscard]] const Counts& counts(CoreId core) const { return counts_[core.value]; }
  // Wrong answers since start.
  [[nodiscard]] u64 violations() const { return violations_.load(Order::relaxed); }

 private:
  struct Entry {
    const MigrationDescriptor* descriptor = nullptr;
    MigrationPolicy* policy = nullptr;
    TunableValues values;  // any
  };
  [[nodiscard]] static bool is_usual(const SchedulingEntity& entity) { return entity.real_time == 0; }

  u64 (*random_)();
  std::span<const CoreStatistics> cores_;
  Entry entries_[max_policies];            // boot, then constant but for the values
  u32 count_ = 0;                          // boot, then constant
  Atomic<const Entry*> current_{nullptr};  // any
  Atomic<u64> violations_{0};              // any
  alignas(cache_line) Atomic<u32> hungry_count_{0};  // of hungry_, or more for a moment
  AtomicCoreSet hungry_;  // any; a core adds itself, and whoever removes it gives it something
  Counts counts_[max_cores];               // see there
};

}  // namespace corral::sched
