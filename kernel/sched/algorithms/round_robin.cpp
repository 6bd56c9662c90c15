// Round robin: every waiting entity in turn, one quantum each.
//
// An entity that is preempted within its quantum keeps the rest of it and goes on first; one whose quantum is used up goes
// to the back with a new one. While nothing else waits, quanta follow each other without a tick: when something arrives,
// the running entity has left what remains of the quantum that it would be in.
#include "sched/scheduling_algorithm.h"

namespace corral::sched {

class RoundRobin final : public SchedulingAlgorithm {
 public:
  static constexpr Tunable tunables[] = {
      {"quantum", Unit::percent_of_tick, 1, 100'000, 100, "how long a turn is"},
  };
  enum : size_t { quantum };

  explicit RoundRobin(const AlgorithmParameters& parameters) : quantum_{parameters.tunables.time(quantum)} {}

  static Duration holds_back(const AlgorithmParameters& parameters) { return parameters.tunables.time(quantum); }

  void enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant) override {
    if (reason == EnqueueReason::preempted && left_of(entity) > Duration{}) {
      queue_.push_front(entity);
    } else {
      left_of(entity) = quantum_;
      queue_.push_back(entity);
    }
    ++waiting_;
  }

  void dequeue(SchedulingEntity& entity, Instant) override {
    queue_.remove(entity);
    --waiting_;
  }

  Decision pick(Instant now) override {
    SchedulingEntity* first = queue_.pop_front();
    if (first == nullptr) return {};
    --waiting_;
    return {first, review(*first, now)};
  }

  void charge(SchedulingEntity& running, Duration used, Instant) override {
    left_of(running) = left_of(running) - used;
    if (left_of(running) <= Duration{} && waiting_ == 0) {
      left_of(running) = Duration{quantum_.ns + left_of(running).ns % quantum_.ns};
    }
  }

  Instant review(const SchedulingEntity& running, Instant now) override {
    if (waiting_ == 0) return never;
    return left_of(running) > Duration{} ? now + left_of(running) : now;
  }

  u32 waiting() const override { return waiting_; }
  SchedulingEntity* last_waiting() override { return queue_.back(); }

 private:
  struct State {
    Duration slice_left{};  // of its quantum
  };
  static Duration& left_of(SchedulingEntity& entity) { return entity.timeline.as<State>().slice_left; }
  static Duration left_of(const SchedulingEntity& entity) { return entity.timeline.as<State>().slice_left; }

  IntrusiveList<SchedulingEntity, &SchedulingEntity::queue_link> queue_;
  u32 waiting_ = 0;
  const Duration quantum_;
};

}  // namespace corral::sched

CORRAL_SCHEDULING_ALGORITHM(corral::sched::RoundRobin, "rr", "round robin: one quantum each, in turn", tunables)
