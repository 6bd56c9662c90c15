// Earliest eligible virtual deadline first: time in proportion to weight, and never late by more than a slice.
//
// Everyone asks for one slice of time after another. An ideal machine would serve all at once, each by its weight; its
// clock, virtual time, is the weighted average of what all have had (in virtual ns: time divided by weight). Who has
// had less than that has positive lag and is eligible. A request is due when the ideal machine would have finished it: a
// slice, divided by the weight, after what its owner had at its beginning. Of those who are eligible the one whose request
// is due first runs, until the request is served. So a heavy or a lagging entity comes first, and nobody gets ahead.
//
// Lag is kept across sleep, so that neither sleeping nor waking gains anything. It is bounded by two slices.
// Source: Stoica, Abdel-Wahab: Earliest Eligible Virtual Deadline First (1995); Linux 6.6,
// Documentation/scheduler/sched-eevdf.rst, for placing by lag.
//
// Cost: every operation O(log n). A waiting entity is in one of two trees: `later_`, by what it has had, or `eligible_`,
// by when it is due; a look moves it across when virtual time has passed it (amortised: once for each time that it waits,
// unless the average falls back behind it).
#include "sched/scheduling_algorithm.h"
#include "sched/virtual_time.h"

namespace corral::sched {

class EarliestEligible final : public SchedulingAlgorithm {
 public:
  static constexpr Tunable tunables[] = {
      {"slice", Unit::percent_of_tick, 1, 10'000, 75,
       "what a thread asks for at once: shorter ones run sooner, but switch more"},
      {"parity", Unit::number, 0, 1, 1, "1: a request that is being served is not interrupted by one that is due earlier"},
  };
  enum : size_t { slice, parity };

  explicit EarliestEligible(const AlgorithmParameters& parameters)
      : slice_{parameters.tunables.number(slice)}, to_parity_{parameters.tunables.number(parity) != 0} {}

  // Nobody is further from its share than that for each competitor.
  static Duration holds_back(const AlgorithmParameters& parameters) {
    return parameters.tunables.time(slice) + parameters.tunables.time(slice);
  }

  void enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant) override {
    if (&entity == running_) {
      running_ = nullptr;
      if (reason == EnqueueReason::yielded) {  // its request can wait
        const i64 put_off = virtual_now() + request_of(entity);
        if (put_off > state_of(entity).due) state_of(entity).due = put_off;
      }
    } else {
      join(entity, reason == EnqueueReason::created);
    }
    later_.insert(entity);
    state_of(entity).is_eligible = false;
    ++waiting_;
    weight_ += entity.weight;
    sum_ += (state_of(entity).had - base_) * entity.weight;
  }

  void dequeue(SchedulingEntity& entity, Instant) override {
    keep_lag(entity);
    take_out(entity);
  }

  Decision pick(Instant now) override {
    running_ = nullptr;
    rebase();
    SchedulingEntity* first = first_eligible();
    if (first == nullptr) return {};
    take_out(*first);
    running_ = first;
    served_ = false;
    return {first, waiting_ == 0 ? never : now + time_left(*first)};
  }

  void charge(SchedulingEntity& running, Duration used, Instant) override {
    if (&running != running_) adopt(running);
    State& state = state_of(running);
    state.had += virtual_time(used.ns, running.weight);
    if (state.had >= state.due) {
      state.due = state.had + request_of(running);
      served_ = true;
    }
    rebase();
  }

  void depart(SchedulingEntity& running, Instant) override {
    if (&running != running_) adopt(running);
    keep_lag(running);
    running_ = nullptr;
  }

  Instant review(const SchedulingEntity& running, Instant now) override {
    if (waiting_ == 0) return never;
    if (&running != running_) return now;
    if (served_ || !to_parity_) {
      const SchedulingEntity* first = first_eligible();
      if (first != nullptr && (served_ || first->policy == SchedulingPolicy::other) && before(*first, running)) return now;
      served_ = false;
    }
    return now + time_left(running);
  }

  u32 waiting() const override { return waiting_; }
  SchedulingEntity* last_waiting() override { return later_.empty() ? eligible_.last() : later_.last(); }

 private:
  // had, due: of who waits or runs. lag: of who does not.
  struct State {
    i64 had = 0;  // virtual ns
    i64 due = 0;  // virtual ns: when its request is to be served
    i64 lag = 0;  // ns of service that it should have had and did not get
    bool is_eligible = false;  // which tree it is in
  };
  static State& state_of(SchedulingEntity& entity) { return entity.timeline.as<State>(); }
  static const State& state_of(const SchedulingEntity& entity) { return entity.timeline.as<State>(); }
  struct HadLess {
    bool operator()(const SchedulingEntity& a, const SchedulingEntity& b) const { return state_of(a).had < state_of(b).had; }
  };
  struct DueSooner {
    bool operator()(const SchedulingEntity& a, const SchedulingEntity& b) const { return state_of(a).due < state_of(b).due; }
  };

  // What a slice is in virtual ns.
  [[nodiscard]] i64 request_of(const SchedulingEntity& entity) const {
    const i64 request = virtual_time(slice_, entity.weight);
    return request > 0 ? request : 1;
  }
  // The weighted average of what those that wait and the running one have had, rounded down: somebody is never above it.
  [[nodiscard]] i64 virtual_now() const {
    i64 sum = sum_;
    i64 weight = weight_;
    if (running_ != nullptr) {
      sum += (state_of(*running_).had - base_) * running_->weight;
      weight += running_->weight;
    }
    if (weight == 0) return base_;
    return base_ + sum / weight - (sum % weight < 0 ? 1 : 0);
  }
  // Keeps the numbers in sum_ small.
  void rebase() {
    const i64 to = virtual_now();
    sum_ -= (to - base_) * weight_;
    base_ = to;
  }

  // A newcomer with its lag, and its first request (of a new entity half a slice, so that it has a turn soon).
  void join(SchedulingEntity& entity, bool is_new) {
    State& state = state_of(entity);
    const i64 others = weight_ + (running_ != nullptr ? running_->weight : 0);
    i64 lag = 0;
    // Its weight draws the average towards it: it is put off by more, so that the lag is right afterwards.
    if (!is_new && others > 0) lag = virtual_of(state.lag, entity.weight) + state.lag * weight_of_nice_0 / others;
    state.had = virtual_now() - lag;
    state.due = state.had + (is_new ? (request_of(entity) + 1) / 2 : request_of(entity));
  }
  // The engine runs one that was never picked here.
  void adopt(SchedulingEntity& running) {
    running_ = nullptr;
    join(running, false);
    running_ = &running;
    served_ = false;
  }
  void keep_lag(SchedulingEntity& entity) {
    const i64 ahead = state_of(entity).had - virtual_now();
    const i64 most = 2 * slice_;
    const i64 lag = ahead > 0 ? -real_time(ahead, entity.weight) : real_time(-ahead, entity.weight);
    state_of(entity).lag = lag > most ? most : lag < -most ? -most : lag;
  }
  static i64 virtual_of(i64 lag, u32 weight) { return lag < 0 ? -virtual_time(-lag, weight) : virtual_time(lag, weight); }

  void take_out(SchedulingEntity& entity) {
    state_of(entity).is_eligible ? eligible_.remove(entity) : later_.remove(entity);
    --waiting_;
    weight_ -= entity.weight;
    sum_ -= (state_of(entity).had - base_) * entity.weight;
  }
  SchedulingEntity* first_eligible() {
    const i64 now = virtual_now();
    for (SchedulingEntity* first = later_.first(); first != nullptr && state_of(*first).had <= now; first = later_.first()) {
      later_.pop_first();
      eligible_.insert(*first);
      state_of(*first).is_eligible = true;
    }
    for (SchedulingEntity* first = eligible_.first(); first != nullptr && state_of(*first).had > now;
         first = eligible_.first()) {
      eligible_.pop_first();
      later_.insert(*first);
      state_of(*first).is_eligible = false;
    }
    return eligible_.first();
  }
  // Whether `waits`, eligible, is to run rather than `running`.
  [[nodiscard]] bool before(const SchedulingEntity& waits, const SchedulingEntity& running) const {
    return state_of(running).had > virtual_now() || state_of(waits).due < state_of(running).due;
  }
  static Duration time_left(const SchedulingEntity& entity) {
    return Duration{real_time(state_of(entity).due - state_of(entity).had, entity.weight)};
  }

  RedBlackTree<SchedulingEntity, &SchedulingEntity::tree_link, HadLess> later_;
  RedBlackTree<SchedulingEntity, &SchedulingEntity::tree_link, DueSooner> eligible_;
  u32 waiting_ = 0;
  i64 base_ = 0;    // virtual ns
  i64 weight_ = 0;  // of those that wait
  i64 sum_ = 0;     // of (had - base_) × weight of those that wait
  SchedulingEntity* running_ = nullptr;
  bool served_ = false;  // the running one has had what it asked for since it was picked, and asks for more
  const i64 slice_;      // ns
  const bool to_parity_;
};

}  // namespace corral::sched

CORRAL_SCHEDULING_ALGORITHM(corral::sched::EarliestEligible, "eevdf",
                            "earliest eligible virtual deadline first, as Linux since 6.6", tunables)
