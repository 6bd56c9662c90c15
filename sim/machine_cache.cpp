// What threads fetch into caches, and what is counted of it: what a CounterSource tells the policies in the kernel. See machine.h.
#include "machine.h"

namespace corral::sim {

// A simulated processor executes an instruction in each nanosecond.
void Machine::fetch(CoreState& core, Thread& thread) {
  const u64 pages = thread.task->memory_pages;
  thread.fetched = core.cache.use(thread.number, pages, hardware_.cache_pages);
  thread.fetched_in_all += thread.fetched;
  thread.overhead = thread.overhead + Duration{static_cast<i64>(thread.fetched) * hardware_.refill_page.ns};
  thread.counted_from = now_;
}

void Machine::count(CoreState& core, Thread& thread) {
  constexpr u64 lines_of_a_page = page_size / 64;
  const Duration ran = now_ - thread.counted_from;
  sched::Counts counts;
  counts.set(sched::Figure::pages, thread.task->memory_pages);
  counts.set(sched::Figure::instructions, static_cast<u64>(ran.ns));
  counts.set(sched::Figure::refills, thread.fetched * lines_of_a_page);
  const sched::ResourceUse use =
      thread.entity.resources.load(Order::relaxed).with(sched::ResourceUse::of(counts), sched::ResourceUse::of_a_stretch);
  thread.entity.resources.store(use, Order::relaxed);
  placer_.statistics(core.queue.core()).add_resources(use, ran, core.cache_users.note(thread.entity, use.pages(), now_));
}

}  // namespace corral::sim
