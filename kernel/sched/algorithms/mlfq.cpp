// Multilevel feedback: who computes for long sinks, who waits often stays on top. Nobody has to say which it is.
//
//  1. The highest level that has somebody runs, in turns.
//  2. A new entity starts at the top.
//  3. Who has used up the quantum of its level, in one go or in many, goes one level down. Quanta double from level to level.
//  4. Once in a while all go back to the top, so that nobody starves, and who changed its habits is found out.
//
// Somebody woken at a higher level takes the core at once; who loses it so goes on first at its level with the rest
// of its quantum. Weights play no part: the levels are the priorities. Boosts come at the same instants on all cores, and an
// entity that was asleep then finds out when it comes back.
// Source: Corbató, Merwin-Daggett, Daley: An Experimental Time-Sharing System (1962) for the doubling quanta;
// Arpaci-Dusseau: Operating Systems: Three Easy Pieces, chapter 8, for the rules.
// Cost: O(levels); a boost moves everyone who waits.
#include "sched/scheduling_algorithm.h"

namespace corral::sched {

class MultilevelFeedback final : public SchedulingAlgorithm {
 public:
  static constexpr u32 most_levels = 16;
  static constexpr Tunable tunables[] = {
      {"levels", Unit::number, 1, most_levels, 4, "how many levels there are"},
      {"quantum", Unit::percent_of_tick, 1, 10'000, 100, "the quantum of the top level; each lower level has twice as much"},
      {"boost", Unit::microseconds, 0, 60'000'000, 1'000'000, "time after which all go back to the top; 0: never"},
  };
  enum : size_t { levels, quantum, boost };

  explicit MultilevelFeedback(const AlgorithmParameters& parameters)
      : level_count_{static_cast<u32>(parameters.tunables.number(levels))},
        quantum_{parameters.tunables.time(quantum)},
        period_{parameters.tunables.time(boost)} {}

  // Those on low levels wait for the next boost, and then for those before them at the top.
  static Duration holds_back(const AlgorithmParameters& parameters) {
    const Duration period = parameters.tunables.time(boost);
    return period == Duration{} ? holds_back_forever : period + parameters.tunables.time(quantum);
  }

  void enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant now) override {
    look(now);
    const State& state = brought_up_to_date(entity);
    List& list = lists_[state.level];
    const bool goes_on = reason == EnqueueReason::preempted && state.used > Duration{};
    goes_on ? list.push_front(entity) : list.push_back(entity);
    ++waiting_;
  }

  void dequeue(SchedulingEntity& entity, Instant) override {
    List::remove(entity);
    --waiting_;
  }

  Decision pick(Instant now) override {
    look(now);
    turn_over_ = false;
    if (waiting_ == 0) return {};
    SchedulingEntity* first = lists_[highest()].pop_front();
    --waiting_;
    brought_up_to_date(*first);
    return {first, review(*first, now)};
  }

  void charge(SchedulingEntity& running, Duration used, Instant now) override {
    State& state = brought_up_to_date(running);
    state.used = state.used + used;
    while (state.used >= quantum_of(state.level)) {
      turn_over_ = true;
      const bool lowest = state.level + 1 == level_count_;
      state.used = lowest ? Duration{} : state.used - quantum_of(state.level++);
    }
    look(now);  // what was used before a boost is forgotten
  }

  Instant review(const SchedulingEntity& running, Instant now) override {
    if (waiting_ == 0) return never;
    const State& state = state_of(running);
    const u32 level = state.era == era_ ? state.level : 0;
    const u32 above = highest();
    if (above < level || (above == level && turn_over_)) return now;
    turn_over_ = false;
    return now + (quantum_of(level) - (state.era == era_ ? state.used : Duration{}));
  }

  u32 waiting() const override { return waiting_; }

  SchedulingEntity* last_waiting() override {
    for (u32 level = most_levels; level-- > 0;) {
      if (!lists_[level].empty()) return lists_[level].back();
    }
    return nullptr;
  }

 private:
  struct State {
    u32 level = 0;    // 0: the top
    Duration used{};  // of the quantum of that level
    i64 era = 0;      // the boost after which this counts; in an older one it was boosted since
  };
  using List = IntrusiveList<SchedulingEntity, &SchedulingEntity::queue_link>;
  static const State& state_of(const SchedulingEntity& entity) { return entity.timeline.as<State>(); }

  State& brought_up_to_date(SchedulingEntity& entity) {
    auto& state = entity.timeline.as<State>();
    if (state.era != era_) state = {0, {}, era_};
    // Left over from other tunables.
    if (state.level >= level_count_) state.level = level_count_ - 1;
    if (state.used >= quantum_of(state.level)) state.used = {};
    return state;
  }
  [[nodiscard]] Duration quantum_of(u32 level) const { return Duration{quantum_.ns << level}; }
  // Of somebody who waits; there is one.
  [[nodiscard]] u32 highest() {
    u32 level = 0;
    while (lists_[level].empty()) ++level;
    return level;
  }

  // Boosts when it is time.
  void look(Instant now) {
    if (now < next_boost_) return;
    era_ = period_.ns == 0 ? 1 : now.ns / period_.ns + 1;
    next_boost_ = period_.ns == 0 ? never : Instant{era_ * period_.ns};
    for (u32 level = 1; level < most_levels; ++level) {
      while (SchedulingEntity* entity = lists_[level].pop_front()) lists_[0].push_back(*entity);
    }
  }

  List lists_[most_levels];
  u32 waiting_ = 0;
  i64 era_ = 0;
  Instant next_boost_{};
  bool turn_over_ = false;  // the running one has used up a quantum since it was picked
  const u32 level_count_;
  const Duration quantum_;
  const Duration period_;
};

}  // namespace corral::sched

CORRAL_SCHEDULING_ALGORITHM(corral::sched::MultilevelFeedback, "mlfq",
                            "multilevel feedback: who computes for long sinks, weights play no part", tunables)
