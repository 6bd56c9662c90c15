// CoreMigration: one core's part in the migration of threads: whom it asks when it has nothing to run, and what it gives to others
// that have nothing. It asks the policy through the Migrator, which knows who is hungry; messages and timers are the caller's, so
// the kernel's executive and simulations decide by the same source.
// Context: the owning core only, interrupts off, between two steps.
#pragma once

#include "sched/engine/migrator.h"
#include "sched/engine/run_queue.h"

namespace corral::sched {

class CoreMigration {
 public:
  // Threads that are looked at, at most, in one go. Those behind them are asked about when something has changed.
  static constexpr u32 longest_look = 32;

  explicit CoreMigration(CoreId here) : here_{here} {}

  // ---- the core has nothing to run ------------------------------------------------------------------------------------
  // It says so, before it reads what the others of its own `group` have, of whom somebody may come. The core that is to be asked for
  // a thread, at once if `at` is not after `now`, which counts as asked; else at that moment this is to be called again. no_core: nobody.
  [[nodiscard]] PullAnswer look_for_work(Migrator& migrator, const CoreSet& group, Instant now);
  // It has something to run, or nobody may come any more.
  void stop_looking(Migrator& migrator);
  // It said that it is hungry and has run nothing since; another core may have taken the request up.
  [[nodiscard]] bool hungry() const { return hungry_; }

  // ---- what others answer ---------------------------------------------------------------------------------------------
  // A refusal tells nothing when something has come since the request: who is not hungry is refused.
  void note_refusal(CoreId by) {
    awaiting_ = false;
    if (asked_) refused_.add(by);
  }
  // `answers`: it comes because this core asked.
  void note_arrival(bool answers) {
    if (answers) awaiting_ = false;
    if (hungry_) begin_anew();
  }
  // Who refused so far may have somebody by now.
  void begin_anew() {
    asked_ = false;
    refused_ = {};
  }

  // ---- others have nothing to run -------------------------------------------------------------------------------------
  struct Gift {
    SchedulingEntity* entity = nullptr;  // waits in `queue`; null: none
    CoreId target = no_core;  // gets it, from this core alone
    Instant cools = never;  // none: from when on one may go
  };
  // One of those that wait in `queue`, this core's (RunQueue, or what has its functions), for one of `targets`. `cores_for(entity)`:
  // where it may run.
  template <class Queue, class CoresFor>
  [[nodiscard]] Gift choose_gift(Migrator& migrator, Queue& queue, CoreSet targets, Instant now, CoresFor&& cores_for);

 private:
  // The member of `set`, which is not empty, that follows this core, round from the highest to the lowest.
  [[nodiscard]] CoreId next_of(const CoreSet& set) const {
    const CoreId next = set.next(here_.value + 1);
    return next.value < max_cores ? next : set.lowest();
  }

  const CoreId here_;
  bool hungry_ = false;
  bool awaiting_ = false;  // a request has not been answered yet
  bool asked_ = false;  // since it became hungry, and nothing has come since
  CoreSet refused_;  // by these, since then; they look for this core themselves when they have somebody
  Instant last_asked_{};
};

template <class Queue, class CoresFor>
CoreMigration::Gift CoreMigration::choose_gift(Migrator& migrator, Queue& queue, CoreSet targets, Instant now,
                                               CoresFor&& cores_for) {
  while (!targets.empty()) {
    const u32 spare = queue.spare();
    Gift gift;
    CoreSet possible;
    gift.entity = queue.find_from_tail(longest_look, [&](SchedulingEntity& waiting) {
      possible = cores_for(waiting) & targets;
      if (possible.empty()) return false;
      const Instant leaves = migrator.leaves_at({waiting, possible, here_, spare, now});
      if (leaves > now && leaves < gift.cools) gift.cools = leaves;
      return leaves <= now;
    });
    if (gift.entity == nullptr) return gift;
    gift.target = next_of(possible);
    if (migrator.claim_empty(gift.target)) return gift;
    targets.remove(gift.target);
  }
  return {};
}

}  // namespace corral::sched
