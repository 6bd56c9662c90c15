// Blend: a score for each core, the lowest wins. The score is a sum of metrics, each times a weight that may be changed while
// the machine runs; a metric of weight 0 is not looked at. So one can ask which of them matter for a load, and how much.
//
// All metrics count in the same unit, 1024 for a whole core or thread. Among equals the cores after the asking one come
// first. Source: the modules that Lozi and others propose in The Linux Scheduler: A Decade of Wasted Cores (2016), section 4,
// as weights of one score. Cost: O(cores × metrics).
#include "sched/placement/least_of.h"

namespace corral::sched {

class Blend final : public PlacementPolicy {
 public:
  static constexpr Tunable tunables[] = {
      {"threads", Unit::number, 0, 100, 10, "weight of: threads that run there, wait, or are on the way"},
      {"weight", Unit::number, 0, 100, 0, "weight of: the weights of the threads there"},
      {"use", Unit::number, 0, 100, 1, "weight of: how much of its recent time the core was busy"},
      {"cold", Unit::number, 0, 100, 4, "weight of: how little its cache still knows of the thread"},
      {"away", Unit::number, 0, 100, 1, "weight of: a message is needed to get there"},
      {"warm", Unit::microseconds, 1, 10'000'000, 2'000, "time after which a core's cache has forgotten a thread"},
  };
  enum : size_t { threads, weight, use, cold, away, warm };

  CoreId select(const PlacementRequest& request, const SystemView& system) override {
    const Judge judge{request, system};
    const LeastCore best = least(
        request, system.cores.data(), [=](const CoreStatistics& core) { return judge.elsewhere(core); },
        [=](const CoreStatistics& here) { return judge.here(here); });
    return system.id_of(*best.core);
  }

  [[nodiscard]] CoreScore score(const PlacementRequest& request, const SystemView& system, CoreId core) const override {
    const Judge judge{request, system};
    const CoreStatistics& numbers = system.cores[core.value];
    return {core == request.here ? judge.here(numbers) : judge.elsewhere(numbers), ScoreUnit::points};
  }

 private:
  static constexpr u64 whole = 1024;
  static_assert(whole == RecentUse::whole && whole == weight_of_nice_0);

  // One look at the tunables for the whole decision.
  struct Weights {
    explicit Weights(const TunableValues& values) {
      for (size_t i = 0; i < warm; ++i) of[i] = static_cast<u64>(values.number(i));
    }
    u64 of[warm];
  };

  // Scores cores for one request.
  class Judge {
   public:
    Judge(const PlacementRequest& request, const SystemView& system)
        : weights_{system.tunables},
          created_{request.reason == PlacementReason::created},
          last_{!created_ && request.entity.has_run() ? &system.cores[request.entity.last_core.value] : nullptr},
          time_{RecentUse::time_of(request.now)},
          last_score_{last_ != nullptr ? weights_.of[cold] * coldness(request, system.tunables.time(warm)) : 0} {}

    [[nodiscard]] u64 elsewhere(const CoreStatistics& core) const { return of(core, 0) + weights_.of[away] * whole; }
    [[nodiscard]] u64 here(const CoreStatistics& core) const { return of(core, created_ ? 1 : 0); }  // without its creator

   private:
    [[nodiscard]] u64 of(const CoreStatistics& core, u64 without) const {
      u64 score = &core == last_ ? last_score_ : weights_.of[cold] * whole;
      if (weights_.of[threads] != 0) {
        const u64 load = core.load();
        score += weights_.of[threads] * whole * (load > without ? load - without : 0);
      }
      if (weights_.of[weight] != 0) score += weights_.of[weight] * core.load_weight();
      if (weights_.of[use] != 0) score += weights_.of[use] * core.recent_use(time_);
      return score;
    }

    const Weights weights_;
    const bool created_;
    const CoreStatistics* const last_;
    const u64 time_, last_score_;
  };

  // Of the core where it last ran: 0, it has just left, to `whole`.
  static u64 coldness(const PlacementRequest& request, Duration warm_time) {
    const Duration since = request.now - request.entity.last_ran;
    if (since >= warm_time) return whole;
    return since.ns <= 0 ? 0 : static_cast<u64>(since.ns) * whole / static_cast<u64>(warm_time.ns);
  }
};

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::Blend, "blend", "the lowest score, a sum of metrics with weights", tunables)
