// A machine of cores in virtual time, for tests of scheduling policies: the kernel's own run queues and placer, driven by
// threads that compute and sleep as they say. Exact to the nanosecond and the same in every run.
#pragma once

#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "lib/random.h"
#include "sched/engine/placer.h"
#include "sched/engine/run_queue.h"
#include "sched/policy_choice.h"

namespace corral::test {

using namespace sched;

// An algorithm's object in memory of its own, named as on the command line: its values come from there.
class OwnedAlgorithm {
 public:
  OwnedAlgorithm(std::string_view text, AlgorithmParameters parameters) {
    Refusal why;
    const AlgorithmDescriptor* descriptor = choose_algorithm(text, parameters.tick, parameters.tunables, why);
    if (descriptor == nullptr) std::abort();
    storage_ = ::operator new(descriptor->size, std::align_val_t{64});
    algorithm_ = descriptor->make(storage_, parameters);
  }
  OwnedAlgorithm(const AlgorithmDescriptor* descriptor, AlgorithmParameters parameters)
      : OwnedAlgorithm{std::string_view{descriptor->name}, parameters} {}
  OwnedAlgorithm(const OwnedAlgorithm&) = delete;
  OwnedAlgorithm& operator=(const OwnedAlgorithm&) = delete;
  ~OwnedAlgorithm() {
    algorithm_->~SchedulingAlgorithm();
    ::operator delete(storage_, std::align_val_t{64});
  }
  SchedulingAlgorithm& operator*() { return *algorithm_; }
  SchedulingAlgorithm* operator->() { return algorithm_; }

 private:
  void* storage_;
  SchedulingAlgorithm* algorithm_;
};

inline Random machine_random{1};
inline u64 next_random() {
  return machine_random.next();
}

// A placer with every policy of the library in it.
class OwnedPlacer {
 public:
  explicit OwnedPlacer(std::string_view text) : placer_{std::make_unique<Placer>(next_random)} {
    for (const PlacementDescriptor* descriptor : placements()) {
      storage_.push_back(::operator new(Placer::Policies::room_for(descriptor->size), std::align_val_t{64}));
      if (!placer_->policies().add(*descriptor, storage_.back())) std::abort();
    }
    use(text);
  }
  void use(std::string_view text) {
    Refusal why;
    TunableValues values;
    const PlacementDescriptor* descriptor = choose_placement(text, milliseconds(4), values, why);
    if (descriptor == nullptr || !placer_->policies().use(*descriptor, values)) std::abort();
  }
  OwnedPlacer(const OwnedPlacer&) = delete;
  OwnedPlacer& operator=(const OwnedPlacer&) = delete;
  ~OwnedPlacer() {
    for (void* storage : storage_) ::operator delete(storage, std::align_val_t{64});
  }
  Placer& operator*() { return *placer_; }
  Placer* operator->() { return placer_.get(); }

 private:
  std::unique_ptr<Placer> placer_;
  std::vector<void*> storage_;
};

// The entity comes first and alone, so that a thread is found from its entity by a cast.
struct SchedulingEntityHolder {
  SchedulingEntity entity;
};
static_assert(std::is_standard_layout_v<SchedulingEntityHolder>);

class Machine {
 public:
  // What a thread does next: computes for `compute`, then sleeps for `sleep` (never: until wake() is called), or ends.
  struct Behaviour {
    Duration compute{};
    Duration sleep{};
    bool end = false;
  };
  struct Thread : SchedulingEntityHolder {
    std::function<Behaviour(Thread&)> next;
    Behaviour doing;
    Duration goal{};       // run_time at which `doing.compute` is done
    Instant wake_at = never;
    Instant woken_at{};
    Duration worst_delay{};  // from waking to running
    bool ended = false;
    bool waking = false;
    Instant ended_at{};
  };

  static constexpr Duration tick = milliseconds(4);

  Machine(u32 cores, const char* algorithm, const char* placement) : placer_{placement}, online_{CoreSet::first(cores)} {
    for (u32 i = 0; i < cores; ++i) cores_.push_back(std::make_unique<SimulatedCore>(CoreId{i}, *placer_, algorithm));
  }

  // A thread that `here` creates now.
  Thread& spawn(u32 here, i32 nice, std::function<Behaviour(Thread&)> next) {
    threads_.push_back(std::make_unique<Thread>());
    Thread& thread = *threads_.back();
    thread.next = std::move(next);
    thread.entity.nice = nice;
    thread.entity.weight = weight_of(nice);
    begin(thread);
    place(thread, PlacementReason::created, CoreId{here});
    return thread;
  }
  // A thread that computes for ever.
  Thread& spawn_hog(u32 here, i32 nice = 0) {
    return spawn(here, nice, [](Thread&) { return Behaviour{seconds(1000000)}; });
  }
  // A thread that computes for `work`, then ends.
  Thread& spawn_job(u32 here, Duration work, i32 nice = 0) {
    return spawn(here, nice, [work, done = false](Thread&) mutable {
      if (done) return Behaviour{.end = true};
      done = true;
      return Behaviour{work};
    });
  }
  void wake(Thread& thread) {
    thread.wake_at = never;
    thread.woken_at = now;
    thread.waking = true;
    thread.entity.woken_by_interrupt = true;
    begin(thread);
    place(thread, PlacementReason::woken, thread.entity.last_core);
  }

  void run_for(Duration time) { run_until(now + time); }
  void run_until(Instant end) {
    for (;;) {
      Instant next = end;
      for (auto& core : cores_) next = earlier(next, core->next_event());
      for (auto& thread : threads_) next = earlier(next, thread->wake_at);
      if (next > now) now = next;
      if (now >= end) break;
      for (auto& thread : threads_) {
        if (thread->wake_at <= now) wake(*thread);
      }
      for (auto& core : cores_) core_event(*core);
    }
    for (auto& core : cores_) core->queue.charge(now);
  }
  // Runs until all threads have ended; false after `limit`.
  bool run_to_end(Duration limit) {
    const Instant end = now + limit;
    while (now < end) {
      bool alive = false;
      for (auto& thread : threads_) alive = alive || !thread->ended;
      if (!alive) return true;
      run_for(milliseconds(1));
    }
    return false;
  }

  RunQueue& queue(u32 core) { return cores_[core]->queue; }
  const CoreStatistics& statistics(u32 core) { return placer_->statistics(CoreId{core}); }
  Placer& placer() { return *placer_; }
  [[nodiscard]] u64 violations() {
    u64 sum = placer_->policies().violations();
    for (auto& core : cores_) sum += core->queue.violations().total();
    return sum;
  }
  // The architecture's invariant: no core idle while another has waiting threads.
  [[nodiscard]] bool wasteful() {
    bool idle = false;
    bool waiting = false;
    for (auto& core : cores_) {
      idle = idle || core->queue.running() == nullptr;
      waiting = waiting || core->queue.waiting() > 0;
    }
    return idle && waiting;
  }

  Instant now{1};
  Duration latest_end{};

 private:
  struct SimulatedCore {
    SimulatedCore(CoreId id, Placer& placer, const char* name)
        : queue{id, placer.statistics(id), tick}, algorithm{name, {id, tick}} {
      queue.install(*algorithm, Instant{1});
    }
    Instant next_event() const {
      if (queue.running() == nullptr) return never;
      return earlier(until, started + burst_left);
    }
    RunQueue queue;
    OwnedAlgorithm algorithm;
    Instant until = never;
    Instant started{};
    Duration burst_left{};
  };

  static Instant earlier(Instant a, Instant b) { return a < b ? a : b; }
  static Thread& thread_of(SchedulingEntity& entity) {
    return static_cast<Thread&>(reinterpret_cast<SchedulingEntityHolder&>(entity));
  }

  void begin(Thread& thread) {
    thread.doing = thread.next(thread);
    thread.goal = thread.entity.run_time + thread.doing.compute;
  }

  void place(Thread& thread, PlacementReason reason, CoreId here) {
    const CoreId to = placer_->choose(thread.entity, reason, online_ & thread.entity.allowed, here, now);
    placer_->assign(thread.entity, to, here);
    SimulatedCore& core = *cores_[to.value];
    core.until = core.queue.enqueue(thread.entity,
                                    reason == PlacementReason::created ? EnqueueReason::created : EnqueueReason::woken, now);
    settle(core);
  }

  // After anything that changed `core`: the right thread runs, and next_event() is right.
  void settle(SimulatedCore& core) {
    core.queue.charge(now);
    if (SchedulingEntity* running = core.queue.running(); running != nullptr && core.until <= now) {
      core.queue.leave(*running, LeaveReason::preempted, now);
    }
    if (core.queue.running() == nullptr) {
      const Decision decision = core.queue.pick(now);
      core.until = decision.entity == nullptr ? never : decision.until;
      if (decision.entity != nullptr) {
        Thread& thread = thread_of(*decision.entity);
        if (thread.waking && now - thread.woken_at > thread.worst_delay) thread.worst_delay = now - thread.woken_at;
        thread.waking = false;
      }
    }
    if (SchedulingEntity* running = core.queue.running(); running != nullptr) {
      core.started = now;
      core.burst_left = thread_of(*running).goal - running->run_time;
    }
  }

  void core_event(SimulatedCore& core) {
    core.queue.charge(now);
    SchedulingEntity* running = core.queue.running();
    if (running == nullptr) return;
    Thread& thread = thread_of(*running);
    if (running->run_time >= thread.goal) {
      if (!thread.doing.end && thread.doing.sleep == Duration{}) begin(thread);
      if (thread.doing.end) {
        core.queue.leave(*running, LeaveReason::ended, now);
        thread.ended = true;
        thread.ended_at = now;
      } else if (running->run_time >= thread.goal) {
        core.queue.leave(*running, LeaveReason::blocked, now);
        thread.wake_at = thread.doing.sleep.ns == never.ns ? never : now + thread.doing.sleep;
      }
    } else if (core.until <= now) {
      core.until = core.queue.review(now);
    }
    settle(core);
  }

  OwnedPlacer placer_;
  CoreSet online_;
  std::vector<std::unique_ptr<SimulatedCore>> cores_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace corral::test
