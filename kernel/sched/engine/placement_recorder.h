// PlacementRecorder: asks a placement policy so that the simulator can ask it the same again: what it saw of the cores, the random
// numbers that it drew and what it answered are written into the trace (sched/recorded_calls.h, docs/replay.md).
//
// A policy may remember its earlier decisions, of any core. So the recorder asks an object of its own, new when the recording
// begins, and one decision follows the other: they are numbered under its lock. The policy is shown copies of what the cores
// publish, which do not change while it looks.
// Context: as Placer::choose().
#pragma once

#include "sched/engine/placer.h"
#include "sched/recorded_calls.h"
#include "sync/spin_lock.h"

namespace corral::sched {

class PlacementRecorder final : public PlacementAsker {
 public:
  [[nodiscard]] CoreId ask(const PlacementDescriptor& descriptor, const TunableValues& values, const PlacementRequest& request,
                           std::span<const CoreStatistics> cores) override EXCLUDES(lock_);

 private:
  static constexpr size_t room = 1024;  // for the policy's object

  // The random numbers of the policy that is being asked.
  static u64 draw();
  [[nodiscard]] bool is_made(const PlacementDescriptor& descriptor, const TunableValues& values) const REQUIRES(lock_);
  // False: it cannot be made.
  bool make(const PlacementDescriptor& descriptor, const TunableValues& values) REQUIRES(lock_);
  CoreId ask_policy(const PlacementRequest& request) REQUIRES(lock_);

  SpinLock lock_{Rank::placement_recorder, "recorder of placements"};
  // All of these under lock_.
  PlacementPolicy* policy_ = nullptr;
  const PlacementDescriptor* descriptor_ = nullptr;  // of policy_; null: there is none
  TunableValues values_;
  u32 session_ = 0;
  u64 number_ = 0;  // of the decision
  u64 last_draw_ = 0;
  u32 draws_ = 0;
  CoreStatistics copies_[max_cores];  // empty, but for the cores that the policy is shown while it is asked
  alignas(cache_line) u8 object_[room] = {};
};

}  // namespace corral::sched
