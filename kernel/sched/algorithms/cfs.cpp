// Completely fair scheduling: every entity is to get time in proportion to its weight.
//
// Each entity has a virtual runtime: its time on the core, in ns, divided by its weight (1024: as on the wall). Who has
// the least runs next. `minimum_` follows the least virtual runtime of all that are here and never goes back; newcomers
// and sleepers are placed relative to it, so that a new entity neither starves the old ones nor waits for all of them.
//
// Invariant: virtual_runtime of an entity in the tree is absolute; of every other one (running, asleep, on the way to
// another core) it is relative to minimum_ as it was at the last pick() or charge() of it. So it means the same on every
// core, and nothing has to be told to the algorithm when an entity goes to sleep. It keeps what minimum_ was then: when it
// wakes where it ran, as is usual, that tells how far the others really went on.
#include <algorithm>

#include "lib/planted.h"
#include "lib/token_bucket.h"
#include "sched/scheduling_algorithm.h"
#include "sched/virtual_time.h"

namespace corral::sched {

class CompletelyFair final : public SchedulingAlgorithm {
 public:
  static constexpr Tunable tunables[] = {
      {"latency", Unit::percent_of_tick, 10, 10'000, 600, "time in which everyone who waits should have a turn"},
      {"turn", Unit::percent_of_tick, 1, 10'000, 100, "the shortest turn; shorter ones cost more in switches than they gain"},
      {"lead", Unit::percent_of_tick, 0, 10'000, 25, "how far a running thread may be ahead of a woken one and go on"},
      {"undisturbed", Unit::percent_of_tick, 0, 10'000, 25,
       "the beginning of a turn, in which nobody preempts whom a thread has woken"},
      {"overdue", Unit::percent_of_tick, 0, 10'000, 125, "… but for those of whom the running thread is ahead by so much"},
      {"calm", Unit::percent_of_tick, 0, 10'000, 12, "time between threads that preempt at once, but for three in a row"},
      {"credit", Unit::percent_of_tick, 0, 10'000, 300, "how far behind the others a sleeper may come back"},
  };
  enum : size_t { latency, turn, lead, undisturbed, overdue, calm, credit };
  static constexpr u32 in_a_row = 3;  // who preempt at once without calm between them

  explicit CompletelyFair(const AlgorithmParameters& parameters)
      : core_{parameters.core},
        at_once_{Duration{parameters.tunables.number(calm)}, in_a_row},
        latency_{parameters.tunables.number(latency)},
        minimum_slice_{parameters.tunables.number(turn)},
        wake_up_lead_{parameters.tunables.number(lead)},
        undisturbed_{parameters.tunables.number(undisturbed)},
        overdue_{parameters.tunables.number(overdue)},
        sleeper_credit_{parameters.tunables.number(credit)} {}

  static Duration holds_back(const AlgorithmParameters& parameters) {
    return std::max(parameters.tunables.time(latency), parameters.tunables.time(turn));
  }

  void enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant now) override {
    i64 lag = runtime_of(entity);  // behind (< 0) or ahead (> 0) of the minimum
    switch (reason) {
      case EnqueueReason::created:
        // As if it had had a turn already: it waits for one of each of the others, and threads that are created one
        // after the other start in that order.
        lag = virtual_time(minimum_slice_, entity.weight);
        break;
      case EnqueueReason::woken:
        // What it was ahead is forgiven as the others go on, and sleep earns some credit.
        lag -= passed_since(entity, now);
        lag = std::max(lag, -sleeper_credit_);
        break;
      case EnqueueReason::yielded: {
        // Behind all that wait, but by no more than one round: who yields in a loop must not fall back for ever.
        const SchedulingEntity* last = tree_.last();
        if (last != nullptr) lag = std::max(lag, std::min(waiting_at(*last), waiting_at(*tree_.first()) + latency_) - minimum_);
        break;
      }
      case EnqueueReason::preempted:
      case EnqueueReason::migrated: break;
    }
    if (planted(Plant::virtual_time_of_migrated) && reason == EnqueueReason::migrated) lag += seconds(1000).ns;
    runtime_of(entity) = minimum_ + lag;
    tree_.insert(entity);
    // SCHED_BATCH and SCHED_IDLE take nobody's turn.
    if (reason == EnqueueReason::woken && entity.policy == SchedulingPolicy::other && tree_.first() == &entity) {
      challenger_ = &entity;
    }
    ++waiting_;
    weight_waiting_ += entity.weight;
  }

  void dequeue(SchedulingEntity& entity, Instant) override {
    tree_.remove(entity);
    if (challenger_ == &entity) challenger_ = nullptr;  // its memory may become another entity's
    waits_no_more(entity);
  }

  Decision pick(Instant now) override {
    SchedulingEntity* first = tree_.pop_first();
    if (first == nullptr) return {};
    minimum_ = std::max(minimum_, waiting_at(*first));
    waits_no_more(*first);
    turn_used_ = Duration{};
    challenger_ = nullptr;
    return {first, waiting_ == 0 ? never : now + Duration{slice_of(*first)}};
  }

  void charge(SchedulingEntity& running, Duration used, Instant) override {
    turn_used_ = turn_used_ + used;
    State& state = running.timeline.as<State>();
    const i64 absolute = minimum_ + state.virtual_runtime + virtual_time(used.ns, running.weight);
    const SchedulingEntity* first = tree_.first();
    const i64 least = first == nullptr ? absolute : std::min(absolute, waiting_at(*first));
    const i64 minimum = std::max(minimum_, least);
    minimum_ = minimum;
    state = {absolute - minimum, minimum};
  }

  Instant review(const SchedulingEntity& running, Instant now) override {
    const SchedulingEntity* first = tree_.first();
    if (first == nullptr) return never;
    if (challenger_ != first) return after(left_of_turn(running), now);
    const i64 ahead = minimum_ + runtime_of(running) - waiting_at(*first);
    if (ahead > virtual_time(overdue_, first->weight) && !first->woken_by_interrupt) [[unlikely]]
      return beside_overdue(*first, running, ahead, now);
    return after(left_beside(*first, running, ahead), now);
  }

  u32 waiting() const override { return waiting_; }

  SchedulingEntity* last_waiting() override { return tree_.last(); }

 private:
  struct State {
    i64 virtual_runtime = 0;  // virtual ns; see the invariant
    i64 minimum = 0;          // what minimum_ was when it was charged last, where it ran then
  };
  static i64& runtime_of(SchedulingEntity& entity) { return entity.timeline.as<State>().virtual_runtime; }
  static i64 runtime_of(const SchedulingEntity& entity) { return entity.timeline.as<State>().virtual_runtime; }
  // Of one that is in the tree, or on its way into it.
  static i64 waiting_at(const SchedulingEntity& entity) { return entity.timeline.known<State>().virtual_runtime; }

  struct Sooner {
    bool operator()(const SchedulingEntity& a, const SchedulingEntity& b) const { return waiting_at(a) < waiting_at(b); }
  };

  // How far the others went on while `entity` slept, in virtual ns. Elsewhere than where it ran that is not known: as far as
  // if it, those that wait and the one that runs had shared the core. An estimate would not do where it ran: who sleeps
  // would gain by it what nobody lost, and pass by those that wait (sim/workloads/sleepers.json).
  [[nodiscard]] i64 passed_since(const SchedulingEntity& entity, Instant now) const {
    const i64 slept = now > entity.last_ran ? (now - entity.last_ran).ns : 0;
    if (entity.last_core != core_) return slept / (i64{waiting_} + 2);
    const i64 passed = minimum_ - entity.timeline.as<State>().minimum;
    return std::clamp(passed, i64{0}, slept);
  }

  // How long a turn of `entity` is beside those that wait now, in ns.
  [[nodiscard]] i64 slice_of(const SchedulingEntity& entity) const {
    return std::max(minimum_slice_, latency_ * entity.weight / static_cast<i64>(weight_waiting_ + entity.weight));
  }

  [[nodiscard]] i64 left_of_turn(const SchedulingEntity& running) const { return slice_of(running) - turn_used_.ns; }

  // How long `running` may go on, ahead of a woken entity by so much, in ns; at most 0: it is to be preempted.
  [[nodiscard]] i64 left_beside(const SchedulingEntity& woken, const SchedulingEntity& running, i64 ahead) const {
    const i64 lead = virtual_time(wake_up_lead_, woken.weight);
    const i64 until_ahead = ahead > lead ? 0 : real_time(lead - ahead + 1, running.weight);
    const i64 left = std::max(until_ahead, woken.woken_by_interrupt ? 0 : undisturbed_ - turn_used_.ns);
    // As no turn is shorter than minimum_slice_, how long this one is has mostly not to be known.
    if (left + turn_used_.ns <= minimum_slice_) return left;
    return std::min(left, left_of_turn(running));
  }

  // When `left` ns are over: at once if there are none.
  static Instant after(i64 left, Instant now) { return left > 0 ? now + Duration{left} : now; }

  // Who runs seldom is far behind. So is who listens, and stays so by preempting at every word: hence tokens.
  [[gnu::cold]] Instant beside_overdue(const SchedulingEntity& woken, const SchedulingEntity& running, i64 ahead, Instant now) {
    const bool may_already = &woken == passing_ && woken.last_ran == passing_last_ran_;
    if (!may_already && !at_once_.take(now)) return after(left_beside(woken, running, ahead), now);
    passing_ = &woken;
    passing_last_ran_ = woken.last_ran;
    return now;
  }

  // `entity` is out of the tree.
  void waits_no_more(SchedulingEntity& entity) {
    --waiting_;
    weight_waiting_ -= entity.weight;
    runtime_of(entity) -= minimum_;
  }

  const CoreId core_;
  RedBlackTree<SchedulingEntity, &SchedulingEntity::tree_link, Sooner> tree_;
  u32 waiting_ = 0;
  u64 weight_waiting_ = 0;
  i64 minimum_ = 0;       // virtual ns
  Duration turn_used_{};  // by the running entity since it was picked
  TokenBucket at_once_;   // for those who preempt at once

  // Only compared, never followed.
  const SchedulingEntity* challenger_ = nullptr;  // woken during this turn, and first then
  const SchedulingEntity* passing_ = nullptr;     // had the last token
  Instant passing_last_ran_{};                    // had run when it got that

  const i64 latency_;         // ns in which everyone who waits should have a turn
  const i64 minimum_slice_;   // ns: shorter turns would cost more in switches than they gain
  const i64 wake_up_lead_;    // ns that the running entity may be ahead of a woken one without being preempted
  const i64 undisturbed_;     // ns of each turn in which nobody preempts whom a thread woke: talkers would at every word
  const i64 overdue_;         // ns that the running entity is ahead of one woken by a thread that may preempt it at once
  const i64 sleeper_credit_;  // virtual ns that a sleeper may come back behind the minimum
};

}  // namespace corral::sched

CORRAL_SCHEDULING_ALGORITHM(corral::sched::CompletelyFair, "cfs", "completely fair: time in proportion to weight", tunables)
