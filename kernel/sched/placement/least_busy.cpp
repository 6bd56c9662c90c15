// Least busy: an idle core, of those the one that ran least in recent time (recent_use.h: about the last 34 ms); else one with
// the fewest entities, of those the one that was idle most. A thread that has just gone to sleep is still felt, as it is
// likely to come back. Cost: O(cores).
#include "sched/placement/least_of.h"

namespace corral::sched {

struct LoadInTime {
  static u64 load(const CoreStatistics& core) { return with_threads(core, core.load()); }
  static u64 load_without(const CoreStatistics& core, const SchedulingEntity&) {
    const u64 threads = core.load();
    return with_threads(core, threads > 0 ? threads - 1 : 0);
  }
  // 1024 points for each thread, and up to 1023 for recent use.
  static CoreScore score(u64 load, Instant now) {
    const u64 use = RecentUse::coarse_rank(load % busy, RecentUse::time_of(now));
    return {load / busy * RecentUse::whole + use, ScoreUnit::points};
  }
  static constexpr u64 busy = RecentUse::highest_rank + 1;
  static constexpr u64 worth_moving = 2 * busy;

 private:
  static u64 with_threads(const CoreStatistics& core, u64 threads) { return threads * busy + core.use_rank(); }
};
using LeastBusy = LeastOf<LoadInTime>;

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::LeastBusy, "least-busy",
                        "the core with the fewest threads, among equals the one that ran least recently; its own when idle")
