// What a core publishes of itself for placement decisions of others. Written by that core only, except where it says
// otherwise; read by any. A policy must live with numbers that are a moment old, but the load is never counted twice
// and never forgotten while an entity travels: see load().
#pragma once

#include "lib/atomic.h"
#include "lib/planted.h"
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

  [[nodiscard]] bool idle() const { return (idle_.load(Order::relaxed) & 1) != 0; }

  // How much of its recent time it had something to run, of RecentUse::whole.
  [[nodiscard]] u32 recent_use(u64 time) const { return use_.share_about(time); }  // RecentUse::time_of()
  [[nodiscard]] u64 use_rank() const { return use_.rank(); }  // RecentUse::rank()

  // The highest urgency (SchedulingEntity::urgency) that is here, running or waiting: a newcomer runs at once if it is above.
  // 0: none of the real-time class.
  [[nodiscard]] u64 urgency() const { return urgency_.load(Order::relaxed); }

  // What those who ran here lately use: the pages of all of them (sched/cache_users.h), and how far they are memory-bound, an
  // average over the core's time. Unknown while nobody counts (sched/counters.h).
  [[nodiscard]] ResourceUse resources() const { return resources_.load(Order::relaxed); }
  // The same, ready to calculate with; while unknown it computes, and uses none.
  [[nodiscard]] u64 used_pages() const { return used_pages_.load(Order::relaxed); }
  [[nodiscard]] u64 memory_bound() const { return memory_bound_.load(Order::relaxed); }
  [[nodiscard]] u64 computing() const { return computing_.load(Order::relaxed); }  // ResourceUse::whole - memory_bound()

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
  // Somebody who uses so much, which is known, has run here for `time`; `pages_of_all`: with those who did before.
  void add_resources(ResourceUse use, Duration time, u64 pages_of_all) {
    set_resources({pages_of_all, resources().with(use, ResourceUse::weight_of(time)).memory_bound()});
  }
  // True: it was busy.
  bool begin_idle(Instant now) {
    const i64 word = idle_.load(Order::relaxed);
    if ((word & 1) != 0) return false;
    idle_.store(word - now.ns * 2 + 1, Order::relaxed);
    use_.change(false, now);
    return true;
  }
  // True: it was idle.
  bool end_idle(Instant now) {
    const i64 word = idle_.load(Order::relaxed);
    if ((word & 1) == 0) return false;
    idle_.store(word - 1 + (planted(Plant::idle_time_lost) ? now.ns - 1000 : now.ns) * 2, Order::relaxed);
    use_.change(true, now);
    return true;
  }
  // All that policies see, as it is at this moment, to be kept and shown to them again; see load() for the order.
  // `weight` and `placed` together are what they were, with less of `placed`.
  struct Words {
    u64 present, weight, idle, urgency, use;
    u32 placed, resources;
  };
  [[nodiscard]] Words words() const {
    Words words{};
    words.present = present_.load(Order::acquire);
    words.weight = weight_.load(Order::acquire);
    words.idle = static_cast<u64>(idle_.load(Order::relaxed));
    words.urgency = urgency_.load(Order::relaxed);
    words.use = use_.rank();
    const u64 placed = placed_.load(Order::relaxed);
    words.placed = static_cast<u32>(placed);
    words.weight += (placed - words.placed) * weight_of_nice_0;
    words.resources = resources().word();
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
    set_resources(ResourceUse::from_word(words.resources));
  }
  // Adds one to a counter that only this core writes: no locked instruction.
  static void count(Atomic<u64>& counter) { counter.store(counter.load(Order::relaxed) + 1, Order::relaxed); }

 private:
  // Never more than `placed_`, which counted each before it went.
  static u32 arrived(u64 present) { return static_cast<u32>(present >> 32); }
  void set_resources(ResourceUse use) {
    resources_.store(use, Order::relaxed);
    used_pages_.store(use.pages(), Order::relaxed);
    memory_bound_.store(use.memory_bound(), Order::relaxed);
    computing_.store(ResourceUse::whole - use.memory_bound(), Order::relaxed);
  }

  Atomic<u64> present_{0};  // arrived since start << 32 | runnable - arrived, both modulo 2^32
  Atomic<u64> weight_{0};  // sum of the weights of the runnable - arrived × weight_of_nice_0, modulo 2^64
  Atomic<i64> idle_{0};  // 2 × ns of idle time; while idle, 2 × (that − instant of its beginning) + 1: one word for both
  Atomic<u64> urgency_{0};
  RecentUse use_;

  alignas(cache_line) Atomic<u64> placed_{0};  // written by other cores: sent here since start, minus those called back
  Atomic<u64> migrations_out_{0};  // written by other cores: entities that ran here last and were placed elsewhere
  // Written by the core itself, now and then.
  Atomic<u64> used_pages_{0}, memory_bound_{0}, computing_{ResourceUse::whole};
  Atomic<ResourceUse> resources_{ResourceUse{}};
};
static_assert(sizeof(CoreStatistics) == 2 * cache_line);

}  // namespace corral::sched
