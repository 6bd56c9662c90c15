// The part of the SchedulingManager that arranges who owns what: run queues, one for each core or a global one (global_queue.h),
// and threads that sleep.
#include "lib/format.h"
#include "sched/engine/change_note.h"
#include "sched/engine/manager.h"

namespace corral {

Result<void> SchedulingManager::set_queues(std::string_view text, sched::Refusal& why) {
  bool global = false;
  if (!sched::choose_queues(text, global, why)) return Errno::einval;
  const CoreSet online = usable();
  LockGuard guard{lock_};
  if (!is_complete("the queues", queues_taking_.snapshot(Order::acquire), why)) return Errno::ebusy;
  queues_taking_.assign(online, Order::relaxed);
  global_queue_.set_in_use(global);
  Core& here = this_core();
  here.outbox().send_also(here.scheduler->queues_, {MessageType::queues, {}}, cores());
  note_change(changes_, "queues", text);
  return {};
}

void SchedulingManager::queues_taken() {
  queues_taking_.remove(this_core().id(), Order::acq_rel);
}

void SchedulingManager::ask_to_look(CoreId core) {
  Core& here = this_core();
  here.outbox().send_also(here.scheduler->announcement_, {MessageType::reschedule, {}}, CoreSet::of(core));
}

u64 SchedulingManager::shares_beside_global(u32 weight) const {
  const CoreSet group = group_of(false);
  u64 weights = 0;
  u32 runnable = 0;
  group.for_each([&](CoreId core) {
    weights += statistics(core).load_weight();
    runnable += statistics(core).runnable();
  });
  return global_queue_.waiting() + group.count() + sched::StarvationWatch::shares_of(weight, weights, runnable);
}

Result<void> SchedulingManager::set_wakes(std::string_view text, sched::Refusal& why) {
  bool waker = false;
  if (!sched::choose_wakes(text, waker, why)) return Errno::einval;
  LockGuard guard{lock_};
  wakers_place_.store(waker, Order::relaxed);
  note_change(changes_, "wakes", text);
  return {};
}

size_t SchedulingManager::describe_queues(char* to, size_t size) const {
  size_t used = 0;
  const auto line = [&](std::string_view format, const auto&... arguments) {
    used += format_to({to + used, size - used}, format, arguments...).size();
  };
  line("queues {}: per-core global\n", global_queue_.in_use() ? "global" : "per-core");
  line("wakes {}: home waker\n", wakers_place() ? "waker" : "home");
  u64 taken = 0;
  for (u32 level = 0; level < sched::GlobalQueue::levels; ++level) taken += global_queue_.figures(level).taken;
  if (taken == 0) return used;
  line("global queue: waiting {} rounds {}\n", global_queue_.waiting(), global_queue_.round());
  for (u32 level = 0; level < sched::GlobalQueue::levels; ++level) {
    const sched::GlobalQueue::Figures figures = global_queue_.figures(level);
    if (figures.taken == 0) continue;
    line("lock of level {}: taken {} found taken {} waited {} cycles\n", level, figures.taken, figures.waits, figures.waited);
  }
  return used;
}

}  // namespace corral
