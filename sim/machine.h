// The machine in virtual time: the kernel's run queues and placer, driven by threads that do what a workload says.
//
// It does what the executive does in the kernel (kernel/task/executive.cpp): asks for a place, enqueues or sends, picks, leaves.
// Exact to the nanosecond, and the same in every run with the same seed.
#pragma once

#include <deque>
#include <memory>

#include "cache.h"
#include "event_queue.h"
#include "lib/random.h"
#include "policies.h"
#include "sched/cache_users.h"
#include "sched/engine/core_migration.h"
#include "sched/engine/global_turn.h"
#include "thread.h"
#include "workload_file.h"

namespace corral::sim {

class Machine {
 public:
  struct CoreState final : sched::FallbackListener {
    CoreState(CoreId id, sched::CoreStatistics& published, Duration tick)
        : queue{id, published, tick}, global_turn{tick}, migration{id} {
      queue.set_listener(*this);
    }
    void fell_back(sched::RunQueue&, sched::SchedulingAlgorithm&, sched::Misdeed, sched::PolicyCall, Instant) override {
      has_failed = true;
    }
    void violated(const invariants::Violation&) override {}
    sched::RunQueue queue;
    sched::GlobalTurn global_turn;
    Instant until = never;  // until when the running thread may go on
    bool reschedule_wanted = false;  // it gives way at once
    bool settling = false;  // settle() is under way
    bool changed = false;  // since it looked
    bool idle = true;  // it has nothing to run, nor to do
    bool has_failed = false;  // its algorithm: the engine's own is in force
    Instant starving_looked_for{};  // when last, as on the kernel's tick
    Instant has_locks_until{};  // of the global queue, one after the other
    Instant locks_charged_until{};  // that time is somebody's
    u32 generation = 0;  // of its event
    Duration busy{};  // with threads, and what it costs to change between them
    const Thread* last = nullptr;  // who ran last; only compared
    CoreCache cache;
    sched::CacheUsers cache_users;

    // ---- while it has nothing to run (machine_migration.cpp) ----
    sched::CoreMigration migration;
    u32 ask_generation = 0, cool_generation = 0;  // of its events
  };

  // `experiment` must stay. std::invalid_argument: a wrong policy, or a mask without a core.
  Machine(const Experiment& experiment, const PolicyNames& names, u64 seed);

  // To the end of the last thread, or the workload's limit. std::runtime_error: a thread that does nothing for ever.
  void run();

  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] const std::deque<Thread>& threads() const { return threads_; }
  [[nodiscard]] const CoreState& core(u32 number) const { return *cores_[number]; }
  [[nodiscard]] const sched::CoreStatistics& statistics(u32 number) const { return placer_.statistics(CoreId{number}); }
  [[nodiscard]] u64 decisions() const { return decisions_; }
  [[nodiscard]] u64 placements() const { return placements_; }
  [[nodiscard]] u64 violations() const;
  // Of the algorithm in force, as /proc/sched has it.
  [[nodiscard]] const char* algorithm_on(u32 number) const {
    return cores_[number]->has_failed ? sched::SafeTimeline::descriptor.name : policies_.algorithm_name();
  }
  // Core time without a thread while so many threads, or more, waited on other cores.
  [[nodiscard]] Duration wasted() const { return wasted_; }
  [[nodiscard]] u64 alive() const { return alive_; }
  [[nodiscard]] const sched::CoreGroups& groups() const { return groups_; }
  [[nodiscard]] const sched::Demand& demand() const { return demand_; }  // of a dynamic ratio
  [[nodiscard]] CoreSet group_of(bool real_time) const { return groups_.group(real_time, online_); }
  // A list of the global queue, and its lock: there are two for each level.
  struct List {
    Instant free{};  // when its lock is given up by those who have it or wait for it
    u64 taken = 0, found_taken = 0;  // how often
    Duration waited{};
  };
  [[nodiscard]] const sched::GlobalQueue& global_queue() const { return global_; }
  [[nodiscard]] const List& list(u32 level, u32 half) const { return lists_[half * sched::GlobalQueue::levels + level]; }
  // Where threads of a task have run.
  [[nodiscard]] const CoreSet& cores_of(size_t task) const { return cores_of_task_[task]; }

 private:
  using State = Thread::State;
  void make_threads();
  Thread& make_thread(u32 task);  // not born yet
  void handle(const Event& event);
  void account_waste(Instant until);
  void wake(Thread& thread, CoreId asker, bool by_interrupt = false);
  void place(Thread& thread, sched::PlacementReason reason, CoreId asker);
  // How long a message takes to a core.
  [[nodiscard]] Duration way_to(CoreId core) const;
  void send(Thread& thread, CoreId to, CoreId from, sched::EnqueueReason reason);
  void arrive(Thread& thread, sched::EnqueueReason reason);
  // False: the core did not let it in.
  bool enqueue(Thread& thread, CoreId to, sched::EnqueueReason reason);
  void take_out(CoreState& core, sched::SchedulingEntity& waiting);

  // One core (machine_core.cpp).
  void core_event(CoreState& core);
  void work_is_done(CoreState& core, Thread& thread);
  void progress(CoreState& core);
  void look_for_starving(CoreState& core);
  void settle(CoreState& core);
  void settle_once(CoreState& core);
  void count_idle(CoreState& core, bool idle);
  void give_way(CoreState& core, Thread& thread, bool yields);
  // The thread that runs from now on; null: nobody, or the core has to wait for locks first.
  Thread* pick(CoreState& core);
  void begin_to_run(CoreState& core, Thread& thread);
  void leave(CoreState& core, Thread& thread, sched::LeaveReason reason, State state);
  // Until when the running thread may go on, `until` as its run queue says.
  [[nodiscard]] Instant limited(CoreState& core, Instant until) {
    return core.global_turn.any() ? core.global_turn.limit(global_, core.queue.running(), until, now_) : until;
  }
  void balance_real_time(CoreState& core);

  // Migration (machine_migration.cpp).
  bool push_elsewhere(CoreState& core, Thread& thread);
  void look_for_work(CoreState& core);
  void stop_looking_for_work(CoreState& core);
  void on_request(CoreState& core, CoreId asker);
  void on_refusal(CoreState& core, CoreId from);
  void offer_spare(CoreState& core);
  bool give(CoreState& core, const CoreSet& targets, bool pulled);

  // Groups (machine_groups.cpp).
  [[nodiscard]] CoreId place_in_group(Thread& thread, sched::PlacementReason reason, CoreId asker);
  // The thread is not of the core's group, and its run queue looks: it goes on to one that is.
  bool turn_away(Thread& thread, CoreId from, sched::EnqueueReason reason);
  void send_where_it_may_be(Thread& thread, CoreId from);
  void take_groups(CoreState& core);
  void adapt_groups();
  void watch_demand();

  // The global queue (machine_queue.cpp).
  [[nodiscard]] bool waits_globally(Thread& thread) const;
  [[nodiscard]] bool takes_from_global(CoreId core) const;
  void hold_list(CoreState& core, u32 list);
  void charge_locks(CoreState& core);
  void enter_global(Thread& thread, sched::EnqueueReason reason, CoreId asker);
  void invite_guest(CoreState& core);
  void begin_global_turn(CoreState& core, Thread& thread);
  void offer_guest(CoreState& core);
  [[nodiscard]] bool may_be_idle(CoreId core);

  // Caches (machine_cache.cpp), for threads that say how much memory they use.
  [[nodiscard]] bool has_memory(const Thread& thread) const {
    return hardware_.cache_pages != 0 && thread.task->memory_pages != 0;
  }
  void fetch(CoreState& core, Thread& thread);  // it begins to run
  void count(CoreState& core, Thread& thread);  // it stops

  // Program (machine_program.cpp). What the thread does next, up to something that takes time.
  enum class Next : u8 { computes, sleeps, waits, yields, ends };  // waits: its state says for what
  Next advance(Thread& thread, CoreId here);
  [[nodiscard]] const Action* next_action(Thread& thread);
  bool take_lock(Thread& thread, u32 lock);
  void release_lock(Thread& thread, u32 lock, CoreId here);
  bool pass_barrier(Thread& thread, u32 barrier, CoreId here);
  void resume(u32 task, CoreId here);
  bool pass_semaphore(Thread& thread, u32 semaphore);
  void raise_semaphore(u32 semaphore, CoreId here);

  struct Lock {
    Thread* owner = nullptr;
    std::deque<Thread*> waiting;
  };
  struct Semaphore {
    u64 left = 0;  // `up`s for which nobody has come yet
    std::deque<Thread*> waiting;
  };
  struct Meeting {
    std::vector<Thread*> there;
  };

  const Workload& workload_;
  const Hardware& hardware_;
  Policies policies_;
  sched::Placer& placer_;
  sched::Migrator& migrator_;
  sched::CoreGroups groups_;
  sched::Demand demand_;
  bool demand_begun_ = false;
  sched::GlobalQueue global_;
  List lists_[2 * sched::GlobalQueue::levels];
  CoreSet online_;
  std::vector<std::unique_ptr<CoreState>> cores_;
  std::deque<Thread> threads_;
  std::vector<Lock> locks_;
  std::vector<Semaphore> semaphores_;
  std::vector<Meeting> meetings_;
  std::vector<std::vector<Thread*>> threads_of_task_;
  std::vector<CoreSet> cores_of_task_;
  EventQueue events_;
  u64 events_now_ = 0;  // since time went on
  CoreState* stepping_ = nullptr;  // the core whose thread is between two actions
  Instant now_{1};  // an entity that ran at 0 would count as one that never ran
  u64 alive_ = 0;
  u64 decisions_ = 0, placements_ = 0;
  u64 idle_cores_ = 0, waiting_threads_ = 0;
  Duration wasted_{};
};

}  // namespace corral::sim
