// Stride scheduling: the deterministic lottery. A weight is a number of tickets; time is in proportion to tickets.
//
// Each entity has a `pass`. Who has the lowest runs for a quantum and is moved on by its stride, which is the shorter the
// more tickets it has. Who uses a part of the quantum is moved on by that part of the stride; so the unit here is virtual
// ns, the time divided by the tickets. `global_pass_` goes on as one who held all tickets would: who leaves remembers how
// far it was from that, and comes back as far from it; who is new starts one stride behind it. A woken entity does not
// interrupt a quantum; who yields gives the rest of its quantum away.
//
// The error is what the paper is about: at any time nobody is further from its share than by a quantum for each competitor.
// Source: Waldspurger, Weihl: Stride Scheduling: Deterministic Proportional-Share Resource Management (1995), figures 1 to 3.
// Cost: enqueue and dequeue O(log n), the rest O(1).
#include "sched/scheduling_algorithm.h"
#include "sched/virtual_time.h"

namespace corral::sched {

class Stride final : public SchedulingAlgorithm {
 public:
  static constexpr Tunable tunables[] = {
      {"quantum", Unit::percent_of_tick, 1, 10'000, 100, "how long a turn is"},
  };
  enum : size_t { quantum };

  explicit Stride(const AlgorithmParameters& parameters) : quantum_{parameters.tunables.time(quantum)} {}

  static Duration holds_back(const AlgorithmParameters& parameters) { return parameters.tunables.time(quantum); }

  void enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant) override {
    State& state = state_of(entity);
    if (&entity == running_) {
      if (reason == EnqueueReason::yielded && used_ < quantum_) move_on(entity, quantum_ - used_);
      running_ = nullptr;
    } else {
      if (reason == EnqueueReason::created) state.pass = virtual_time(quantum_.ns, entity.weight);
      state.pass += global_pass_;
    }
    queue_.insert(entity);
    ++waiting_;
    tickets_ += entity.weight;
  }

  void dequeue(SchedulingEntity& entity, Instant) override {
    take_out(entity);
    state_of(entity).pass -= global_pass_;
  }

  Decision pick(Instant now) override {
    running_ = queue_.first();
    if (running_ == nullptr) return {};
    take_out(*running_);
    used_ = {};
    return {running_, waiting_ == 0 ? never : now + quantum_};
  }

  void charge(SchedulingEntity& running, Duration used, Instant) override {
    if (&running != running_) adopt(running);
    used_ = used_ + used;
    move_on(running, used);
  }

  void depart(SchedulingEntity& running, Instant) override {
    if (&running != running_) adopt(running);
    state_of(running).pass -= global_pass_;
    running_ = nullptr;
  }

  Instant review(const SchedulingEntity& running, Instant now) override {
    if (waiting_ == 0) return never;
    if (&running != running_) return now;
    if (used_ >= quantum_) {
      if (state_of(*queue_.first()).pass <= state_of(running).pass) return now;
      used_ = {};
    }
    return now + (quantum_ - used_);
  }

  u32 waiting() const override { return waiting_; }
  SchedulingEntity* last_waiting() override { return queue_.last(); }

 private:
  struct State {
    i64 pass = 0;   // virtual ns; of who neither waits nor runs: from the global pass
    u64 rest = 0;   // what division left
  };
  static State& state_of(SchedulingEntity& entity) { return entity.timeline.as<State>(); }
  static const State& state_of(const SchedulingEntity& entity) { return entity.timeline.as<State>(); }
  struct LowerPass {
    bool operator()(const SchedulingEntity& a, const SchedulingEntity& b) const { return state_of(a).pass < state_of(b).pass; }
  };

  // pass += used × 1024 / tickets, exactly in the long run.
  static void advance(i64& pass, u64& rest, Duration used, u64 tickets) {
    rest += static_cast<u64>(used.ns) * weight_of_nice_0;
    pass += static_cast<i64>(rest / tickets);
    rest %= tickets;
  }
  void move_on(SchedulingEntity& running, Duration used) {
    advance(state_of(running).pass, state_of(running).rest, used, running.weight);
    advance(global_pass_, global_rest_, used, tickets_ + running.weight);
  }
  // The engine runs one that was never picked here.
  void adopt(SchedulingEntity& running) {
    state_of(running).pass += global_pass_;
    running_ = &running;
    used_ = {};
  }
  void take_out(SchedulingEntity& entity) {
    queue_.remove(entity);
    --waiting_;
    tickets_ -= entity.weight;
  }

  RedBlackTree<SchedulingEntity, &SchedulingEntity::tree_link, LowerPass> queue_;
  u32 waiting_ = 0;
  u64 tickets_ = 0;  // of those that wait
  i64 global_pass_ = 0;
  u64 global_rest_ = 0;
  SchedulingEntity* running_ = nullptr;
  Duration used_{};  // of its quantum
  const Duration quantum_;
};

}  // namespace corral::sched

CORRAL_SCHEDULING_ALGORITHM(corral::sched::Stride, "stride", "stride: the deterministic lottery, weights are tickets", tunables)
