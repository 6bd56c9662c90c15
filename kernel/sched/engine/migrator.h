// Migrator: the engine round the migration policy, without the machine. It asks the policy, checks its answers, knows which
// cores want something to run, and counts what each core did.
//
// A core with nothing to run is *hungry*: a request to all, which stands until the core runs something or one other core
// takes it up (claim()), which then gives it a thread. That nothing is overlooked: a core says that it is hungry before
// it reads what the others have; a core says what it has before it reads who is hungry. So one of the two sees the other.
//
// Every call of the policy is guarded, and no answer is believed; one that does wrong is replaced by the engine's own, with which
// nobody moves (engine/policy_slots.h, docs/safety.md). Context: any core, interrupts off; no locks.
#pragma once

#include "sched/engine/placer.h"

namespace corral::sched {

// Why a thread came to another core.
enum class MigrationReason : u8 {
  placed,  // it was woken, and placed there
  mask,  // it may not run where it was any more
  real_time,  // the real-time class's own balance
  pushed,  // it had to go, and that core was emptier
  pulled,  // that core was idle and asked for it
  offered,  // that core was idle, and this one came to have somebody to spare
  global,  // that core took it out of the global queue
};

using MigrationSlot = PolicySlot<MigrationPolicy, MigrationDescriptor>;

// Asks a policy for the Migrator: PolicySlots.
class MigrationAsker {
 public:
  virtual bool ask(const MigrationSlot& slot, const PushRequest& request, CoreId& answer) = 0;
  virtual bool ask(const MigrationSlot& slot, const PullRequest& request, PullAnswer& answer) = 0;
  virtual bool ask(const MigrationSlot& slot, const LeaveRequest& request, Instant& answer) = 0;

 protected:
  ~MigrationAsker() = default;
};

class Migrator {
 public:
  using Policies = PolicySlots<MigrationSlot, MigrationAsker>;
  // A policy that wants to be asked again later, is, but not at once: no core must be kept from sleeping, or from its threads.
  static constexpr Duration shortest_pause = microseconds(50);
  // A moment later than this is none that a policy means.
  static constexpr Duration longest_wait = seconds(3600);
  // So many threads may a core send to others that had as many or more, which helps no thread, before its policy lets one stay.
  // When that happens to every second slice, of 4 ms each, it is half a second.
  static constexpr u32 most_needless = 64;

  // What a core did; written by that core.
  struct alignas(cache_line) Counts {
    Atomic<u64> pushed{0};  // threads that it sent away at the end of their slices
    Atomic<u64> asked{0};  // requests that it made when idle
    Atomic<u64> given{0};  // requests of others that it met
    Atomic<u64> refused{0};  // requests of others that it could not meet
    Atomic<u64> offered{0};  // threads that it gave without being asked
    Atomic<u32> needless{0};  // threads that it pushed to cores that had as many, since one stayed
  };

  // `placements`: the one in force may want that nobody is pulled away soon after having run (pulled_after()); null: none does.
  constexpr explicit Migrator(u64 (*random)(), std::span<const CoreStatistics> cores,
                              const Placer::Policies* placements = nullptr)
      : cores_{cores}, policies_{SafeMigration::descriptor, safe_policy_, cores, random}, placements_{placements} {}

  [[nodiscard]] Policies& policies() { return policies_; }
  [[nodiscard]] const Policies& policies() const { return policies_; }
  [[nodiscard]] bool pushes() const { return policies_.in_force().descriptor->pushes; }
  [[nodiscard]] bool pulls() const { return policies_.in_force().descriptor->pulls; }

  // ---- the policy's answers, checked -----------------------------------------------------------------------------
  // Where a preempted entity goes: a candidate, or no_core: it stays.
  [[nodiscard]] CoreId push_target(const PushRequest& request);
  // Whom an idle core asks, and when: at once if `at` is not after request.now.
  [[nodiscard]] PullAnswer whom_to_ask(const PullRequest& request);
  // From when on a waiting entity may go to an idle core, by the policy and by the placement in force; never for those that no
  // policy is asked about.
  [[nodiscard]] Instant leaves_at(const LeaveRequest& request);

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

  // The same, of a core to which nothing has come otherwise.
  [[nodiscard]] bool claim_empty(CoreId core) { return cores_[core.value].load() == 0 && claim(core); }

  [[nodiscard]] Counts& counts(CoreId core) { return counts_[core.value]; }
  [[nodiscard]] const Counts& counts(CoreId core) const { return counts_[core.value]; }

 private:
  // Whether a thread may go from `here` to `target`; false: this helps nobody, and has been so again and again.
  [[nodiscard]] bool may_push(CoreId here, CoreId target);
  // How long the placement in force wants a thread that has run to be left alone.
  [[nodiscard]] Duration hot() const { return placements_ == nullptr ? Duration{} : pulled_after(placements_->in_force()); }

  SafeMigration safe_policy_;
  std::span<const CoreStatistics> cores_;
  Policies policies_;
  const Placer::Policies* placements_;
  alignas(cache_line) Atomic<u32> hungry_count_{0};  // of hungry_, or more for a moment
  AtomicCoreSet hungry_;  // any; a core adds itself, and whoever removes it gives it something
  Counts counts_[max_cores];  // see there
};

}  // namespace corral::sched
