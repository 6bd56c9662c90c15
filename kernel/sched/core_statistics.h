// What a core publishes of itself for placement decisions of others. Written by that core only, except where it says
// otherwise; read by any. A policy must live with numbers that are a moment old, but the load is never counted twice
// and never forgotten while an entity travels: see load().
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"
#include "sched/recent_use.h"

namespace corral::sched {

class alignas(cache_line) CoreStatistics {
 public:
  // ---- for policies: any core ------------------------------------------------------------------------------------
  // Waiting entities and the running one.
  [[nodiscard]] u32 runnable() const { return static_cast<u32>(present_.load(Order::relaxed)); }
  // Placed here by other cores, not arrived yet.
  [[nodiscard]] u32 on_the_way() const {
    const u64 present = present_.load(Order::acquire);
    return travelling(present);
  }
  // runnable + on_the_way, consistent: `present_` holds both what is here and how many arrived, in one word, and is
  // read before `placed_`, so an arrival in between is not lost and not counted twice.
  [[nodiscard]] u32 load() const {
    const u64 present = present_.load(Order::acquire);
    return static_cast<u32>(present) + travelling(present);
  }
  // Total time without anything to run, the current sleep included.
  [[nodiscard]] Duration idle_time(Instant now) const {
    const i64 word = idle_.load(Order::relaxed);
    return Duration{(word >> 1) + ((word & 1) != 0 ? now.ns : 0)};
  }

  // How much of its recent time it had something to run, of RecentUse::whole.
  [[nodiscard]] u32 recent_use(Instant now) const { return use_.share(now); }
  [[nodiscard]] u64 use_rank() const { return use_.rank(); }  // RecentUse::rank()

  // The highest urgency (SchedulingEntity::urgency) that is here, running or waiting: a newcomer runs at once if it is above.
  // 0: none of the real-time class.
  [[nodiscard]] u64 urgency() const { return urgency_.load(Order::relaxed); }

  Atomic<u64> load_weight{0};  // sum of the weights of the runnable
  Atomic<u64> switches{0};  // another entity than the last one was taken
  Atomic<u64> preemptions{0};  // the running entity had to go though it wanted to go on
  Atomic<u64> migrations_in{0};  // entities that ran elsewhere last and were enqueued here

  // ---- placers: any core -------------------------------------------------------------------------------------------
  void expect_one() { placed_.fetch_add(1, Order::relaxed); }  // its message carries the order
  void expect_one_less() { placed_.fetch_sub(1, Order::relaxed); }
  void count_migrations_out(u64 n) { migrations_out_.fetch_add(n, Order::relaxed); }
  [[nodiscard]] u64 migrations_out() const { return migrations_out_.load(Order::relaxed); }

  // ---- the core itself ---------------------------------------------------------------------------------------------
  // `arrived`: how many of the expected have come since start.
  void publish(u32 runnable, u32 arrived) { present_.store(u64{arrived} << 32 | runnable, Order::release); }
  void publish_urgency(u64 urgency) { urgency_.store(urgency, Order::relaxed); }
  void begin_idle(Instant now) {
    const i64 word = idle_.load(Order::relaxed);
    if ((word & 1) != 0) return;
    idle_.store(word - now.ns * 2 + 1, Order::relaxed);
    use_.change(false, now);
  }
  void end_idle(Instant now) {
    const i64 word = idle_.load(Order::relaxed);
    if ((word & 1) == 0) return;
    idle_.store(word - 1 + now.ns * 2, Order::relaxed);
    use_.change(true, now);
  }
  // Adds one to a counter that only this core writes: no locked instruction.
  static void count(Atomic<u64>& counter) { counter.store(counter.load(Order::relaxed) + 1, Order::relaxed); }

 private:
  [[nodiscard]] u32 travelling(u64 present) const {
    const i32 n = static_cast<i32>(placed_.load(Order::relaxed) - static_cast<u32>(present >> 32));
    return n > 0 ? static_cast<u32>(n) : 0;
  }

  Atomic<u64> present_{0};  // arrived since start << 32 | runnable
  Atomic<i64> idle_{0};  // 2 × ns of idle time; while idle, 2 × (that − instant of its beginning) + 1: one word for both
  Atomic<u64> urgency_{0};
  RecentUse use_;

  alignas(cache_line) Atomic<u32> placed_{0};  // written by other cores: sent here since start, minus those called back
  Atomic<u64> migrations_out_{0};  // written by other cores: entities that ran here last and were placed elsewhere
};
static_assert(sizeof(CoreStatistics) == 2 * cache_line);

}  // namespace corral::sched
