#include "sched/engine/manager.h"

#include "device/clock.h"
#include "memory/heap.h"
#include "sched/policy_choice.h"
#include "trace/log.h"

namespace corral {

namespace {

// Runs on a core that another one told of a change (MessageType::reschedule).
void on_reschedule_message(Core& core, const Message&) {
  core.scheduler->want_reschedule();
}

// Another core came to stand lower (MessageType::real_time_room).
void on_real_time_room_message(Core& core, const Message&) {
  core.scheduler->look_at_real_time();
}

// What a policy's tunables are now; a line for each.
template <class Line>
void describe_tunables(const sched::PolicyDescription& policy, const sched::TunableValues& values, Duration tick, Line&& line) {
  for (size_t i = 0; i < policy.tunables.size(); ++i) {
    const sched::Tunable& tunable = policy.tunables[i];
    line("{}.{} {} {}: {}\n", policy.name, tunable.name, tunable.as_shown(values.number(i), tick), name_of(tunable.unit),
         tunable.description);
  }
}

}  // namespace

SchedulingManager& scheduling() {
  static constinit SchedulingManager manager;
  return manager;
}

Result<void> SchedulingManager::initialise(const Options& options) {
  if (options.tick < microseconds(1) || options.tick > seconds(1)) {
    log::error("the tick of the schedulers must be between 1 µs and 1 s, not {} ns", options.tick);
    return Errno::einval;
  }
  sched::Refusal why;
  sched::TunableValues for_placement;
  const sched::AlgorithmDescriptor* algorithm = sched::choose_algorithm(options.algorithm, options.tick, tunables_, why);
  if (algorithm == nullptr) {
    log::error("sched.algorithm={}: {}", options.algorithm, why.view());
    return Errno::einval;
  }
  const sched::PlacementDescriptor* placement = sched::choose_placement(options.placement, options.tick, for_placement, why);
  if (placement == nullptr) {
    log::error("sched.placement={}: {}", options.placement, why.view());
    return Errno::einval;
  }
  if (!placer_.ready()) {
    for (const sched::PlacementDescriptor* descriptor : sched::placements()) {
      void* storage = memory::allocate(round_up(descriptor->size, cache_line));
      if (storage == nullptr) return Errno::enomem;
      if (!placer_.add(*descriptor, storage)) {
        memory::release(storage);
        log::error("placement policy {} left out: more than {}", descriptor->name, sched::Placer::max_policies);
      }
    }
    set_message_handler(MessageType::reschedule, on_reschedule_message);
    set_message_handler(MessageType::real_time_room, on_real_time_room_message);
  }
  tick_ = options.tick;
  algorithm_.store(algorithm, Order::release);
  return placer_.use(*placement, for_placement) ? Result<void>{} : Errno::einval;
}

Result<void> SchedulingManager::add(Core& core) {
  LockGuard guard{lock_};  // not in the middle of a change of algorithm, which would miss this core
  Scheduler* scheduler = TRY(memory::make<Scheduler>(core, placer_.statistics(core.id()), tick_));
  Result<void> started = scheduler->start(*algorithm_.load(Order::acquire), tunables_);
  if (!started.ok()) {
    delete scheduler;
    return started.error();
  }
  devices().add(*scheduler);
  core.scheduler = scheduler;
  schedulers_[core.id().value].store(scheduler, Order::release);
  ready_.add(core.id(), Order::release);
  return {};
}

Scheduler* SchedulingManager::scheduler(CoreId core) const {
  return core.value < max_cores ? schedulers_[core.value].load(Order::acquire) : nullptr;
}

CoreId SchedulingManager::place(sched::SchedulingEntity& entity, sched::PlacementReason reason) {
  const CoreId here = this_core().id();
  const CoreSet usable = ready_.snapshot(Order::acquire) & cores::online();
  CoreSet candidates = usable & entity.allowed;
  if (candidates.empty()) [[unlikely]] {
    if (usable.empty()) return here;  // start-up, before any core is online: the only one there is
    widened_.fetch_add(1, Order::relaxed);
    entity.allowed = CoreSet::all();
    candidates = usable;
  }
  const CoreId chosen = placer_.choose(entity, reason, candidates, here, clock::now());
  placer_.assign(entity, chosen, here);
  return chosen;
}

void SchedulingManager::send(sched::SchedulingEntity& entity, CoreId to) {
  placer_.assign(entity, to, this_core().id());
}

// That nothing is overlooked: a core says that somebody waits before it reads how high the others stand, and a core says
// how high it stands before it reads where somebody waits. So one of the two sees the other.
void SchedulingManager::note_real_time_waits(bool waits) {
  const CoreId here = this_core().id();
  if (waits) {
    real_time_waits_.add(here, Order::seq_cst);
  } else if (real_time_waits_.contains(here, Order::relaxed)) {
    real_time_waits_.remove(here, Order::relaxed);
  }
}

CoreId SchedulingManager::real_time_target(const sched::SchedulingEntity& entity, const CoreSet& except) const {
  const CoreSet usable = ready_.snapshot(Order::acquire) & cores::online() & entity.allowed;
  CoreSet candidates;
  for (u32 i = 0; i < CoreSet::words; ++i) candidates.set_word(i, usable.word(i) & ~except.word(i));
  return placer_.lowest_below(entity, candidates);
}

void SchedulingManager::offer_room() {
  fence(Order::seq_cst);
  CoreSet asked = real_time_waits_.snapshot(Order::relaxed);
  Scheduler& own = *this_core().scheduler;
  asked.remove(own.core().id());
  if (asked.empty()) return;
  const bool under_way = Outbox::pending(own.room_);  // some mailbox was full
  own.room_.targets = under_way ? own.room_.targets | asked : asked;
  if (under_way) return;
  own.room_.message = Message{MessageType::real_time_room, {}};
  this_core().outbox().send(own.room_);
}

Result<void> SchedulingManager::set_placement(std::string_view text) {
  sched::Refusal why;
  sched::TunableValues values;
  const sched::PlacementDescriptor* placement = sched::choose_placement(text, tick_, values, why);
  if (placement == nullptr) {
    log::notice("placement {}: {}", text, why.view());
    return Errno::einval;
  }
  LockGuard guard{lock_};
  if (!placer_.use(*placement, values)) return Errno::einval;
  return {};
}

Result<void> SchedulingManager::set_algorithm(std::string_view text) {
  sched::Refusal why;
  sched::TunableValues values;
  const sched::AlgorithmDescriptor* algorithm = sched::choose_algorithm(text, tick_, values, why);
  if (algorithm == nullptr) {
    log::notice("algorithm {}: {}", text, why.view());
    return Errno::einval;
  }
  const CoreSet all = cores();
  LockGuard guard{lock_};

  // All objects first, so that lack of memory changes nothing.
  bool complete = true;
  all.for_each([&](CoreId core) {
    Scheduler& timeline = *scheduler(core);
    auto installation = timeline.prepare(*algorithm, values);
    timeline.prepared_ = installation.ok() ? installation.value() : nullptr;
    complete = complete && installation.ok();
  });
  all.for_each([&](CoreId core) {
    Scheduler& timeline = *scheduler(core);
    Scheduler::Installation* prepared = std::exchange(timeline.prepared_, nullptr);
    if (complete) {
      timeline.want_algorithm(*prepared);
    } else {
      Scheduler::discard(prepared);
    }
  });
  if (!complete) return Errno::enomem;
  tunables_ = values;
  algorithm_.store(algorithm, Order::release);

  // Tell them: a core whose only thread runs without a tick would not look for long.
  Scheduler& own = *this_core().scheduler;
  own.want_reschedule();
  const bool under_way = Outbox::pending(own.announcement_);  // of an earlier change; some mailbox was full
  own.announcement_.targets = all;
  own.announcement_.targets.remove(own.core().id());
  if (!under_way) {
    own.announcement_.message = Message{MessageType::reschedule, {}};
    this_core().outbox().send(own.announcement_);
  }
  return {};
}

size_t SchedulingManager::describe_scheduling(char* to, size_t size) const {
  size_t used = 0;
  const auto line = [&](std::string_view format, const auto&... arguments) {
    used += format_to({to + used, size - used}, format, arguments...).size();
  };
  line("algorithm {}:", algorithm_name());
  for (const sched::AlgorithmDescriptor* descriptor : sched::algorithms()) line(" {}", descriptor->name);
  line("\nplacement {}:", placement_name());
  for (const sched::PlacementDescriptor* descriptor : sched::placements()) line(" {}", descriptor->name);
  line("\n");
  describe_tunables(*algorithm_.load(Order::acquire), tunables_, tick_, line);
  describe_tunables(placer_.current(), placer_.current_values(), tick_, line);
  line("tick {} ns\nplacement violations {}\nmasks widened {}\n", tick_, placer_.violations(), widened_.load(Order::relaxed));
  line("core algorithm runnable coming   weight   switches preemptions   moved_in  moved_out         idle_ns violations\n");
  const Instant now = clock::now();
  cores().for_each([&](CoreId core) {
    const sched::CoreStatistics& numbers = statistics(core);
    const Scheduler& timeline = *scheduler(core);
    line("{4} {9} {8} {6} {8} {10} {11} {10} {10} {15} {10}\n", core, timeline.algorithm().name, numbers.runnable(),
         numbers.on_the_way(), numbers.load_weight.load(Order::relaxed), numbers.switches.load(Order::relaxed),
         numbers.preemptions.load(Order::relaxed), numbers.migrations_in.load(Order::relaxed), numbers.migrations_out(),
         numbers.idle_time(now), timeline.violations().total());
  });
  return used;
}

}  // namespace corral
