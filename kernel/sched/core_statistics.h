// What a core publishes of itself for placement decisions of others. Written by that core only, except where it says
// otherwise; read by any. A policy must live with numbers that are a moment old, but the load is never counted twice
// and never forgotten while an entity travels: see load().
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"
#include "sched/recent_use.h"
#include "sched/scheduling_entity.h"

namespace corral::sched {

class alignas(cache_line) CoreStatistics {
 public:
  // ---- for policies: any core ------------------------------------------------------------------------------------
  // Waiting entities and the running one.
  [[nodiscard]] u32 runnable() const {
    const u64 present = present_.load(Order::relaxed);
    return static_cast<u32>(present) + arrived(present);
  }
  // Placed here by other cores, not arrived yet.
  [[nodiscard]] u32 on_the_way() const {
    const u64 present = present_.load(Order::acquire);
    return static_cast<u32>(placed_.load(Order::relaxed)) - arrived(present);
  }
  // runnable + on_the_way, consistent: `present_` holds both what is here and how many arrived, in one word, and is
  // read before `placed_`, so an arrival in between is not lost and not counted twice. Two loads and an addition.
  [[nodiscard]] u32 load() const {
    const auto here_without_arrived = static_cast<u32>(present_.load(Order::acquire));
    return here_without_arrived + static_cast<u32>(placed_.load(Order::relaxed));
  }
  // The sum of the weights of the runnable, and of those on the way, which count as of nice 0.
  [[nodiscard]] u64 load_weight() const {
    const u64 here_without_arrived = weight_.load(Order::acquire);
    return here_without_arrived + placed_.load(Order::relaxed) * weight_of_nice_0;
  }
  // Total time without anything to run, the current sleep included.
  [[nodiscard]] Duration idle_time(Instant now) const {
    const i64 word = idle_.load(Order::relaxed);
    return Duration{(word >> 1) + ((word & 1) != 0 ? now.ns : 0)};
  }

  // How much of its recent time it had something to run, of RecentUse::whole.
  [[nodiscard]] u32 recent_use(u64 time) const { return use_.share_about(time); }  // RecentUse::time_of()
  [[nodiscard]] u64 use_rank() const { return use_.rank(); }  // RecentUse::rank()

  // The highest urgency (SchedulingEntity::urgency) that is here, running or waiting: a newcomer runs at once if it is above.
  // 0: none of the real-time class.
  [[nodiscard]] u64 urgency() const { return urgency_.load(Order::relaxed); }

  Atomic<u64> switches{0};  // another entity than the last one was taken
  Atomic<u64> preemptions{0};  // the running entity had to go though it wanted to go on
  Atomic<u64> migrations_in{0};  // entities that ran elsewhere last and were enqueued here

  // ---- placers: any core -------------------------------------------------------------------------------------------
  void expect_one() { placed_.fetch_add(1, Order::relaxed); }  // its message carries the order
  void expect_one_less() { placed_.fetch_sub(1, Order::relaxed); }
  void count_migrations_out(u64 n) { migrations_out_.fetch_add(n, Order::relaxed); }
  [[nodiscard]] u64 migrations_out() const { return migrations_out_.load(Order::relaxed); }

  // ---- the core itself ---------------------------------------------------------------------------------------------
  // `weight`: the sum of the weights of the runnable. `arrived`: how many of the expected have come since start.
  void publish(u32 runnable, u64 weight, u64 arrived) {
    const auto arrived_word = static_cast<u32>(arrived);
    present_.store(u64{arrived_word} << 32 | (runnable - arrived_word), Order::release);
    weight_.store(weight - arrived * weight_of_nice_0, Order::release);
  }
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
  // All that policies see, as it is at this moment, to be kept and shown to them again; see load() for the order.
  struct Words {
    u64 present, weight, idle, urgency, use, placed;
  };
  [[nodiscard]] Words words() const {
    Words words{};
    words.present = present_.load(Order::acquire);
    words.weight = weight_.load(Order::acquire);
    words.idle = static_cast<u64>(idle_.load(Order::relaxed));
    words.urgency = urgency_.load(Order::relaxed);
    words.use = use_.rank();
    words.placed = placed_.load(Order::relaxed);
    return words;
  }
  // For a copy that nobody else looks at.
  void show(const Words& words) {
    present_.store(words.present, Order::relaxed);
    weight_.store(words.weight, Order::relaxed);
    idle_.store(static_cast<i64>(words.idle), Order::relaxed);
    urgency_.store(words.urgency, Order::relaxed);
    use_.show(words.use);
    placed_.store(words.placed, Order::relaxed);
  }
  // Adds one to a counter that only this core writes: no locked instruction.
  static void count(Atomic<u64>& counter) { counter.store(counter.load(Order::relaxed) + 1, Order::relaxed); }

 private:
  // Never more than `placed_`, which counted each before it went.
  static u32 arrived(u64 present) { return static_cast<u32>(present >> 32); }

  Atomic<u64> present_{0};  // arrived since start << 32 | runnable - arrived, both modulo 2^32
  Atomic<u64> weight_{0};  // sum of the weights of the runnable - arrived × weight_of_nice_0, modulo 2^64
  Atomic<i64> idle_{0};  // 2 × ns of idle time; while idle, 2 × (that − instant of its beginning) + 1: one word for both
  Atomic<u64> urgency_{0};
  RecentUse use_;

  alignas(cache_line) Atomic<u64> placed_{0};  // written by other cores: sent here since start, minus those called back
  Atomic<u64> migrations_out_{0};  // written by other cores: entities that ran here last and were placed elsewhere
};
static_assert(sizeof(CoreStatistics) == 2 * cache_line);

}  // namespace corral::sched
