// See global_queue.h.
#include "sched/engine/global_queue.h"

#include <algorithm>

#include "arch/processor.h"
#include "sched/system_view.h"
#include "sync/interleave.h"

namespace corral::sched {

namespace {

constexpr i64 shortest_turn = 4;  // parts of a tick

void add(Atomic<u64>& counter, u64 amount) {  // under a lock
  counter.store(counter.load(Order::relaxed) + amount, Order::relaxed);
}

}  // namespace

GlobalQueue::LevelGuard::LevelGuard(Level& level) : level_{level} {
  interleave::point();
  if (!level.lock.try_lock()) {
    const u64 begin = arch::cycle_counter();
    level.lock.lock();
    add(level.waits, 1);
    add(level.waited, arch::cycle_counter() - begin);
  }
  add(level.taken, 1);
  interleave::point();
}

Duration GlobalQueue::turn_of(u32 weight, Duration tick) {
  return std::clamp(Duration{tick.ns * weight / weight_of_nice_0}, Duration{tick.ns / shortest_turn}, longest_turn(tick));
}

void GlobalQueue::begin_turn(SchedulingEntity& entity, u64 round, Duration tick) {
  entity.turn_round = round;
  entity.turn_end = entity.run_time + turn_of(entity.weight, tick);
}

GlobalQueue::Place GlobalQueue::place_of(SchedulingEntity& entity, EnqueueReason reason, Duration tick) const {
  const u64 round = round_.load(Order::seq_cst);
  const bool over = !planted(Plant::global_turn_endless) && (reason == EnqueueReason::yielded || left(entity) <= Duration{});
  const bool had_turn = entity.turn_round >= round;
  if (had_turn && !over) return {entity.turn_round, reason == EnqueueReason::preempted};
  // Who was just created waits too: else those who create others in a row would keep the round from ending.
  begin_turn(entity, had_turn || reason == EnqueueReason::created ? round + 1 : round, tick);
  return {entity.turn_round, false};
}

// ---- cores ---------------------------------------------------------------------------------------------------------------
//
// That nobody waits while a core sleeps: who puts somebody in counts it before it looks who is idle; a core says that it is idle
// before it looks whether anybody waits. So one of the two sees the other.

bool GlobalQueue::begin_idle(CoreId core) {
  note_running(core, above_all);
  idle_.add(core, Order::seq_cst);
  if (waiting() == 0) return true;
  idle_.remove(core, Order::seq_cst);
  return false;
}

void GlobalQueue::end_idle(CoreId core) {
  if (idle_.contains(core, Order::relaxed)) idle_.remove(core, Order::relaxed);
}

CoreId GlobalQueue::whom_to_tell(u32 level, CoreId favourite, const CoreSet& among) {
  CoreSet idle = idle_.snapshot(Order::seq_cst) & among;
  while (!idle.empty()) {
    const CoreId core = idle.contains(favourite) ? favourite : idle.lowest();
    if (idle_.take(core, Order::seq_cst)) return core;
    idle.remove(core);
  }
  CoreId lowest = no_core;
  u32 found = level;
  among.for_each([&](CoreId core) {
    const u32 runs = running_[core.value].load(Order::relaxed);
    if (runs <= found) return;
    found = runs;
    lowest = core;
  });
  if (lowest != no_core) note_running(lowest, level);  // it will
  return lowest;
}

bool GlobalQueue::begin_hosting(CoreId core, const CoreSet& among) {
  hosts_.add(core, Order::seq_cst);
  return !(idle_.snapshot(Order::seq_cst) & among).empty();
}

void GlobalQueue::end_hosting(CoreId core) {
  if (hosts_.contains(core, Order::relaxed)) hosts_.remove(core, Order::relaxed);
}

CoreId GlobalQueue::host_to_tell(const CoreSet& among) {
  CoreSet hosts = hosts_.snapshot(Order::seq_cst) & among;
  while (!hosts.empty()) {
    const CoreId host = hosts.lowest();
    if (hosts_.take(host, Order::seq_cst)) return host;
    hosts.remove(host);
  }
  return no_core;
}

bool GlobalQueue::finds(const SchedulingEntity& entity) const {
  const u32 number = entity.global_list.load(Order::acquire);
  if (number == 0 || !entity.engine_link.seen_linked() || waiting() == 0) return false;
  const u32 list = number - 1;
  return (filled_[list / levels].load(Order::relaxed) & u64{1} << list % levels) != 0;
}

i32 GlobalQueue::somebody() {
  for (Level& level : levels_) {
    LevelGuard guard{level};
    if (const SchedulingEntity* const first = level.waiting.front(); first != nullptr) return first->number;
  }
  return 0;
}

GlobalQueue::Figures GlobalQueue::figures(u32 number) const {
  Figures sum{};
  for (const u32 list : {number, levels + number}) {
    const Level& level = levels_[list];
    sum.taken += level.taken.load(Order::relaxed);
    sum.waits += level.waits.load(Order::relaxed);
    sum.waited += level.waited.load(Order::relaxed);
  }
  return sum;
}

}  // namespace corral::sched
