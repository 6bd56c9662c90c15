// GlobalQueue: one ready queue for all cores, with a lock for each priority level (paper 001, section 3), instead of a run queue
// for each core. Chosen by sched.queues=global; what is gained and lost by it is what the paper, and the tests, compare.
//
// Levels are nice values; level 0 is taken first. So that the lower ones get their part, time goes in rounds: each entity has one
// turn in a round, the longer the heavier it is, and who has used it up waits for the next round, which begins when nobody is left
// in the present one. So there are two lists for each level. (The two arrays of Linux's O(1) scheduler, Love: Linux Kernel
// Development, 2nd edition, chapter 4; here for all cores together.)
//
// Who waits here belongs to no core. put() calls disown(entity), take() and take_out() call own(entity), under the level's lock: that
// is where the caller writes down whose it is. Who reads there that it is nobody's may take_out() it; when that fails another core
// was faster, and it is written there whose it is since. So of several cores that want the same entity one gets it.
//
// Only entities of the timeline that may run on every core of their group wait here, so that the first one is always the right
// one: no core looks past others. The rest waits in the run queues of cores, as with sched.queues=per-core.
//
// Context: any core, interrupts off. Lock: a level's own (Rank::global_queue), nothing is called under it but `own`.
#pragma once

#include "lib/atomic.h"
#include "lib/core_set.h"
#include "lib/intrusive_list.h"
#include "lib/planted.h"
#include "sched/scheduling_algorithm.h"
#include "sched/scheduling_entity.h"
#include "sync/spin_lock.h"

namespace corral::sched {

class GlobalQueue {
 public:
  static constexpr u32 levels = nice_highest - nice_lowest + 2;  // the last one: SCHED_IDLE
  [[nodiscard]] static u32 level_of(const SchedulingEntity& entity) {
    return entity.policy == SchedulingPolicy::idle ? levels - 1 : static_cast<u32>(entity.nice - nice_lowest);
  }

  // Whether there is one. Who put somebody in looks again afterwards: emptied by who switched it off, it must stay empty.
  [[nodiscard]] bool in_use() const { return in_use_.load(Order::seq_cst); }
  void set_in_use(bool in_use) { in_use_.store(in_use, Order::seq_cst); }
  [[nodiscard]] u32 waiting() const { return waiting_.load(Order::seq_cst); }

  // ---- entities ------------------------------------------------------------------------------------------------------
  // `entity`, the caller's and in no queue, waits here from now on; it must not be touched any more.
  template <class Disown>
  void put(SchedulingEntity& entity, EnqueueReason reason, Duration tick, Disown&& disown);
  // The one whose turn it is; null: none, or others are taking the last ones at this moment.
  template <class Own>
  [[nodiscard]] SchedulingEntity* take(Own&& own);
  // `entity` itself, wherever it stands. False: it does not wait here (any more).
  template <class Own>
  [[nodiscard]] bool take_out(SchedulingEntity& entity, Own&& own);

  // ---- turns: of an entity that the caller runs or has in hand ----------------------------------------------------------
  // What is left of its turn; never more than `longest_turn`.
  [[nodiscard]] static Duration left(const SchedulingEntity& entity) { return entity.turn_end - entity.run_time; }
  // It has another turn at once: nobody else wants one.
  void begin_turn(SchedulingEntity& entity, Duration tick) const { begin_turn(entity, round_.load(Order::relaxed), tick); }
  // Proportional to the weight, a tick at nice 0; from a quarter of that to longest_turn.
  [[nodiscard]] static constexpr Duration longest_turn(Duration tick) { return Duration{25 * tick.ns}; }
  [[nodiscard]] static Duration turn_of(u32 weight, Duration tick);

  // ---- cores ---------------------------------------------------------------------------------------------------------
  // The level of what a core runs; above_all: nobody here takes the core from it.
  static constexpr u8 above_all = 0;
  void note_running(CoreId core, u32 level) { running_[core.value].store(static_cast<u8>(level), Order::relaxed); }
  // `core` has nothing to run. False: somebody waits here, and it goes on.
  [[nodiscard]] bool begin_idle(CoreId core);
  void end_idle(CoreId core);
  // Whom to tell that somebody of this level waits: an idle core, `favourite` if that is one, else the core of `among` that runs the
  // lowest level below. no_core: none. Each call names another one, until the cores have run again.
  [[nodiscard]] CoreId whom_to_tell(u32 level, CoreId favourite, const CoreSet& among);

  // ---- hosts: cores whose guest waits, since the core's timeline has chosen somebody who is bound to it --------------------
  // A core says that it is a host before it looks who is idle, and looks for hosts after it has said that it is idle.
  // `core` is one. True: a core of `among` is idle, for which the guest is to be put in again.
  [[nodiscard]] bool begin_hosting(CoreId core, const CoreSet& among);
  void end_hosting(CoreId core);
  // For a core that is idle: a host of `among`, which is to look again. no_core: none. Each call names another one, until they have looked.
  [[nodiscard]] CoreId host_to_tell(const CoreSet& among);

  // ---- checks (docs/checker.md): any core, no lock; right for a moment only ------------------------------------------------
  // Whether take() would come to `entity`, which was seen to be nobody's.
  [[nodiscard]] bool finds(const SchedulingEntity& entity) const;
  // How long the cores' timelines have run in all, as far as each has told with pass(). Who reads clock() first, then that an entity is
  // nobody's, then its global_since, does not take its wait for longer than it is.
  void pass(Duration used) { clock_.fetch_add(used.ns, Order::relaxed); }
  [[nodiscard]] Duration clock() const { return Duration{clock_.load(Order::relaxed)}; }
  // To be told: the number of one who waits. 0: nobody. Takes locks.
  [[nodiscard, gnu::cold]] i32 somebody();

  // ---- figures: any core -----------------------------------------------------------------------------------------------
  struct Figures {
    u64 taken;  // how often the lock of a level, both lists together, was taken
    u64 waits;  // … and found taken
    u64 waited;  // cycles
  };
  [[nodiscard]] Figures figures(u32 level) const;
  [[nodiscard]] u64 round() const { return round_.load(Order::relaxed); }

 private:
  static constexpr u32 lists = 2 * levels;
  struct alignas(cache_line) Level {
    SpinLock lock{Rank::global_queue, "level of the global queue"};
    IntrusiveList<SchedulingEntity, &SchedulingEntity::engine_link> waiting GUARDED_BY(lock);
    Atomic<u64> taken{0}, waits{0}, waited{0};  // written under the lock
  };
  // Takes a level's lock, and the time if it has to wait.
  class SCOPED_CAPABILITY LevelGuard {
   public:
    explicit LevelGuard(Level& level) ACQUIRE(level.lock);
    ~LevelGuard() RELEASE() { level_.lock.unlock(); }
    LevelGuard(const LevelGuard&) = delete;
    LevelGuard& operator=(const LevelGuard&) = delete;

   private:
    Level& level_;
  };

  static void begin_turn(SchedulingEntity& entity, u64 round, Duration tick);
  // In which round it is to run, and where in the list.
  struct Place {
    u64 round;
    bool first;
  };
  Place place_of(SchedulingEntity& entity, EnqueueReason reason, Duration tick) const;
  // Out of its list, whose lock is held, and the caller's.
  template <class Own>
  void release(SchedulingEntity& entity, Level& level, Own&& own) REQUIRES(level.lock);

  Level levels_[lists];
  alignas(cache_line) Atomic<u64> filled_[2] = {};  // levels with somebody, for each half; changed under the level's lock
  Atomic<u64> round_{1};
  alignas(cache_line) Atomic<u32> waiting_{0};
  Atomic<bool> in_use_{false};
  Atomic<i64> clock_{0};  // each core adds to it, once in a tick; beside what put() changes in any case
  alignas(cache_line) AtomicCoreSet idle_;
  AtomicCoreSet hosts_;
  Atomic<u8> running_[max_cores] = {};
};

template <class Disown>
void GlobalQueue::put(SchedulingEntity& entity, EnqueueReason reason, Duration tick, Disown&& disown) {
  const Place place = place_of(entity, reason, tick);
  const u32 number = level_of(entity);
  const u32 list = (place.round & 1) * levels + number;
  Level& level = levels_[list];
  LevelGuard guard{level};
  entity.place = SchedulingEntity::Place::global;
  entity.global_since.store(clock(), Order::relaxed);
  if (planted_now_and_then(Plant::global_entry_lost, 50)) return disown(entity);
  place.first ? level.waiting.push_front(entity) : level.waiting.push_back(entity);
  entity.global_list.store(static_cast<u8>(list + 1), Order::release);
  disown(entity);
  filled_[list / levels].fetch_or(u64{1} << number, Order::seq_cst);
  waiting_.fetch_add(1, Order::seq_cst);
}

template <class Own>
void GlobalQueue::release(SchedulingEntity& entity, Level& level, Own&& own) {
  const u32 list = static_cast<u32>(&level - levels_);
  level.waiting.remove(entity);
  if (level.waiting.empty()) filled_[list / levels].fetch_and(~(u64{1} << list % levels), Order::seq_cst);
  entity.place = SchedulingEntity::Place::nowhere;
  own(entity);
  entity.global_list.store(0, Order::release);
  waiting_.fetch_sub(1, Order::seq_cst);
}

template <class Own>
SchedulingEntity* GlobalQueue::take(Own&& own) {
  while (waiting() != 0) {
    u64 round = round_.load(Order::seq_cst);
    for (u64 left = filled_[round & 1].load(Order::seq_cst); left != 0; left &= left - 1) {
      const u32 list = static_cast<u32>(round & 1) * levels + static_cast<u32>(__builtin_ctzll(left));
      Level& level = levels_[list];
      LevelGuard guard{level};
      SchedulingEntity* entity = level.waiting.front();
      if (entity == nullptr) continue;
      release(*entity, level, own);
      return entity;
    }
    if (filled_[(round + 1) & 1].load(Order::seq_cst) == 0) return nullptr;
    (void)round_.compare_exchange(round, round + 1, Order::seq_cst, Order::seq_cst);  // or another core did
  }
  return nullptr;
}

template <class Own>
bool GlobalQueue::take_out(SchedulingEntity& entity, Own&& own) {
  for (;;) {
    const u32 number = entity.global_list.load(Order::acquire);
    if (number == 0) return false;
    Level& level = levels_[number - 1];
    LevelGuard guard{level};
    if (entity.global_list.load(Order::relaxed) != number) continue;  // it was taken, and perhaps put in again elsewhere
    release(entity, level, own);
    return true;
  }
}

}  // namespace corral::sched
