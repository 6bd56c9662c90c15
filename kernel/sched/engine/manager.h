// SchedulingManager: all schedulers of the machine and the placement policy between them (paper 000, section 3.6).
//
// The executive asks place() for the home of every new and woken thread, then either enqueues it itself (the answer is the
// asking core) or sends it in an `arrive` message. The manager counts travelling entities, checks the policy's answers,
// and changes policies while the machine runs.
//
// A core is known here only when its scheduler is complete: add() publishes last.
#pragma once

#include "lib/thread_annotations.h"
#include "sched/engine/placer.h"
#include "sched/engine/random_source.h"
#include "sched/engine/scheduler.h"
#include "sync/spin_lock.h"

namespace corral {

class SchedulingManager {
 public:
  struct Options {
    std::string_view algorithm = sched::default_algorithm;  // sched.algorithm=, as policy_choice.h reads it
    std::string_view placement = sched::default_placement;  // sched.placement=, the same
    Duration tick = milliseconds(4);                        // 1 / timer.hz; 1 µs … 1 s
  };

  // ---- boot context ------------------------------------------------------------------------------------------------
  // Once, before add(). einval: unknown name or a tick out of range, logged with the names that exist; nothing
  // changed, to be called again with what does exist. enomem.
  Result<void> initialise(const Options& options);
  // Makes the core's scheduler, registers the device, sets core.scheduler and lets entities be placed there. Before
  // that core is online; by itself or by the core that starts it. enomem.
  Result<void> add(Core& core) EXCLUDES(lock_);

  // ---- any core, interrupts off, no lock ---------------------------------------------------------------------------
  // The core where `entity` (in no queue; the caller's at this moment) is to be enqueued, allowed and online. When it is
  // another core than the calling one, the entity is accounted as on the way until its enqueue() there.
  // An affinity mask without any online core cannot be kept: it is widened to all (counted).
  [[nodiscard]] CoreId place(sched::SchedulingEntity& entity, sched::PlacementReason reason);
  // The same account for a core that the caller has chosen (affinity changed, explicit migration).
  void send(sched::SchedulingEntity& entity, CoreId to);
  // `entity` was placed but will not arrive (its thread ended on the way).
  void forget(sched::SchedulingEntity& entity) { placer_.forget(entity); }

  // ---- the real-time class between cores; own core, interrupts off -------------------------------------------------
  // The calling core has real-time entities waiting, or none. Before it looks where they could go.
  void note_real_time_waits(bool waits);
  // Where `entity`, which waits on the calling core, would run at once; not in `except`. CoreId{max_cores}: nowhere.
  [[nodiscard]] CoreId real_time_target(const sched::SchedulingEntity& entity, const CoreSet& except) const;
  // The calling core may stand lower than it did: cores where real-time entities wait are asked to look again.
  void offer_room();

  [[nodiscard]] Scheduler* scheduler(CoreId core) const;  // null: none (yet)
  [[nodiscard]] const sched::CoreStatistics& statistics(CoreId core) const { return placer_.statistics(core); }
  [[nodiscard]] Duration tick() const { return tick_; }
  [[nodiscard]] CoreSet cores() const { return ready_.snapshot(Order::acquire); }
  [[nodiscard]] std::string_view algorithm_name() const { return algorithm_.load(Order::acquire)->name; }
  [[nodiscard]] std::string_view placement_name() const { return placer_.current().name; }

  // ---- any core, from a thread's step ------------------------------------------------------------------------------
  // Changes the policy of all cores; each core changes its timeline at its next look, which this causes.
  // `text`: as policy_choice.h reads it. einval: refused, with the reason in the log; enomem. Then nothing changed.
  Result<void> set_algorithm(std::string_view text) EXCLUDES(lock_);
  Result<void> set_placement(std::string_view text) EXCLUDES(lock_);

  // Policies, then a table with a line for each core: text for /proc. Writes at most `size` bytes, returns how many.
  size_t describe_scheduling(char* to, size_t size) const;

 private:
  friend SchedulingManager& scheduling();
  constexpr SchedulingManager() = default;

  SpinLock lock_{Rank::scheduling_manager, "scheduling manager"};  // one change of algorithm or of cores at a time
  Duration tick_{};                                                // boot, then constant
  sched::Placer placer_{random_source::next};
  Atomic<const sched::AlgorithmDescriptor*> algorithm_{nullptr};   // written under lock_ or at boot
  sched::TunableValues tunables_;                                  // of algorithm_; the same
  Atomic<Scheduler*> schedulers_[max_cores] = {};                  // boot writes each once
  AtomicCoreSet ready_;                                            // cores whose scheduler is complete
  AtomicCoreSet real_time_waits_;                                  // cores that look for other cores; each sets its own
  Atomic<u64> widened_{0};                                         // affinity masks that could not be kept
};

[[nodiscard]] SchedulingManager& scheduling();

}  // namespace corral
