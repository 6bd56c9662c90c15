#include "task/thread_counters.h"

#include "core/core.h"
#include "device/clock.h"
#include "lib/container.h"
#include "sched/engine/processor_counters.h"
#include "task/model_counters.h"
#include "task/page_counters.h"
#include "task/thread.h"

namespace corral {

using sched::counting::chosen;
using sched::counting::session;

void ThreadCounters::start(std::string_view choice) {
  static constinit sched::ProcessorCounters processor;
  static constinit ModelCounters model;
  static constinit PageCounters pages;
  sched::counting::add(processor);
  sched::counting::add(model);
  sched::counting::add(pages);
  sched::counting::choose(choice);
}

void ThreadCounters::note_running(Thread& thread) {
  counted_ = &thread;
  session_ = session();
  since_ = clock::now();
  chosen()->begin(thread.entity, since_);
  if (look_.pending()) return;
  this_core().timers().add(look_, since_ + look_interval);
  this_core().rearm_timer();
}

void ThreadCounters::note_leaving(Thread& thread) {
  if (counted_ != &thread || session_ != session()) return;
  const Instant now = clock::now();
  add(thread, chosen()->end(thread.entity, now), now);
  counted_ = nullptr;
}

void ThreadCounters::on_look(TimerEvent& event) {
  ThreadCounters& counters = container_of(event, &ThreadCounters::look_);
  if (counters.counted_ == nullptr || counters.session_ != session() || !sched::counting::active()) return;
  const Instant now = clock::now();
  counters.add(*counters.counted_, chosen()->look(counters.counted_->entity, now), now);
  this_core().timers().add(event, now + look_interval);
}

void ThreadCounters::add(Thread& thread, const sched::Counts& counts, Instant now) {
  const auto add_to = [](Atomic<u64>& sum, u64 number) {
    if (number != 0) sum.store(sum.load(Order::relaxed) + number, Order::relaxed);
  };
  for (u32 figure = 0; figure < sched::figures; ++figure) {
    add_to(thread.counted_figures[figure], counts.value[figure]);
    add_to(thread.counted_in_kernel[figure], counts.in_kernel[figure]);
  }
  sched::SchedulingEntity& entity = thread.entity;
  const sched::ResourceUse use =
      entity.resources.load(Order::relaxed).with(sched::ResourceUse::of(counts), sched::ResourceUse::of_a_stretch);
  entity.resources.store(use, Order::relaxed);
  if (use.known()) this_core().scheduler->add_resources(use, now - since_, cache_users_.note(entity, use.pages(), now));
  since_ = now;
}

}  // namespace corral
