#include "sched/engine/manager.h"
#include "sched/engine/decision_recorder.h"

#include <algorithm>

#include "device/clock.h"
#include "lib/format.h"
#include "lib/planted.h"
#include "memory/heap.h"
#include "sched/engine/change_note.h"
#include "sched/engine/counting.h"
#include "sched/engine/fallbacks.h"
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

// Makes all policies of one kind, for ever; `slots` knows them then.
template <class Slots, class Descriptors>
Result<void> add_policies(Slots& slots, const Descriptors& descriptors) {
  for (const auto* descriptor : descriptors) {
    void* storage = memory::allocate(Slots::room_for(descriptor->size));
    if (storage == nullptr) return Errno::enomem;
    if (slots.add(*descriptor, storage)) continue;
    memory::release(storage);
    log::error("policy {} left out: there are more than {}, or it cannot be made", descriptor->name, Slots::max_policies);
  }
  return {};
}

// The policy that `text`, the value of the boot option sched.KIND=, names; null: there is none, and the log says what there is.
template <class Descriptor>
using Choose = const Descriptor* (*)(std::string_view text, Duration tick, sched::TunableValues& values, sched::Refusal& why);
template <class Descriptor>
const Descriptor* choose_or_say(std::string_view kind, std::string_view text, Duration tick, sched::TunableValues& values,
                                Choose<Descriptor> choose) {
  sched::Refusal why;
  const Descriptor* chosen = choose(text, tick, values, why);
  if (chosen == nullptr) log::error("sched.{}={}: {}", kind, text, why.view());
  return chosen;
}

// A policy of the whole machine from now on; false: refused for `why`, which is that it could not be made, at boot or again.
template <class Slots, class Descriptor>
bool use(Slots& slots, const Descriptor& descriptor, const sched::TunableValues& values, sched::Refusal& why) {
  if (slots.use(descriptor, values)) return true;
  why.length = format_to(why.text, "{} could not be made", descriptor.name).size();
  return false;
}

constinit sched::PlacementRecorder placement_recorder;
constinit sched::MigrationRecorder migration_recorder;

// In a listener of failures: on the core that asked.
void note_shared(const char* kind, const sched::PolicyDescription& failed, const sched::TunableValues& values,
                 const sched::PolicyFailure& failure) {
  SchedulingManager& manager = scheduling();
  Scheduler* asking = manager.scheduler(failure.here);
  sched::RunQueue* queue = asking != nullptr ? &asking->queue() : nullptr;
  sched::fallbacks::note_shared(kind, failed, values, failure, queue, manager.all_statistics(), manager.cores());
}

}  // namespace

constinit SchedulingManager SchedulingManager::the_manager;

Result<void> SchedulingManager::initialise(const Options& options) {
  if (options.tick < microseconds(1) || options.tick > seconds(1)) {
    log::error("the tick of the schedulers must be between 1 µs and 1 s, not {} ns", options.tick);
    return Errno::einval;
  }
  sched::TunableValues for_placement;
  sched::TunableValues for_migration;
  const auto* algorithm = choose_or_say("algorithm", options.algorithm, options.tick, tunables_, sched::choose_algorithm);
  const auto* placement = choose_or_say("placement", options.placement, options.tick, for_placement, sched::choose_placement);
  const auto* migration = choose_or_say("migration", options.migration, options.tick, for_migration, sched::choose_migration);
  if (algorithm == nullptr || placement == nullptr || migration == nullptr) return Errno::einval;
  if (placer_.policies().empty()) {
    placer_.policies().set_listener([](const auto& failed, const auto& values, const sched::PolicyFailure& failure) {
      note_shared("placement", failed, values, failure);
    });
    migrator_.policies().set_listener([](const auto& failed, const auto& values, const sched::PolicyFailure& failure) {
      note_shared("migration", failed, values, failure);
      LockGuard guard{scheduling().lock_};
      scheduling().set_kept();
    });
    groups_.set_listener([](const auto& failed, const auto& values, const sched::PolicyFailure& failure) {
      note_shared("groups", failed, values, failure);
    });
    TRY(add_policies(placer_.policies(), sched::placements()));
    TRY(add_policies(migrator_.policies(), sched::migrations()));
    set_message_handler(MessageType::reschedule, on_reschedule_message);
    set_message_handler(MessageType::real_time_room, on_real_time_room_message);
  }
  sched::Refusal why;
  if (!use(placer_.policies(), *placement, for_placement, why) || !use(migrator_.policies(), *migration, for_migration, why)) {
    log::error("sched: {}", why.view());
    return Errno::einval;
  }
  tick_ = options.tick;
  global_queue_.set_in_use(options.global_queue);
  wakers_place_.store(options.wakers_place, Order::relaxed);
  algorithm_.store(algorithm, Order::release);
  sched::counting::want(placement->goes_by_resources);
  return {};
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
  scheduler->chosen_ = algorithm_.load(Order::relaxed);
  scheduler->chosen_values_ = tunables_;
  if (core.id().value >= cores_expected_) placer_.expect_cores(cores_expected_ = core.id().value + 1);
  ready_.add(core.id(), Order::release);
  set_kept();
  return {};
}

void SchedulingManager::set_kept() {
  const CoreSet all = cores();
  const u32 kept = migrator_.pulls() && all.count() > 1 ? 0 : Scheduler::keeps_all;
  all.for_each([&](CoreId core) { scheduler(core)->kept_.store(kept, Order::relaxed); });
}

Scheduler* SchedulingManager::scheduler(CoreId core) const {
  return core.value < max_cores ? schedulers_[core.value].load(Order::acquire) : nullptr;
}

CoreId SchedulingManager::place(sched::SchedulingEntity& entity, sched::PlacementReason reason,
                                sched::PlacementScores* scores) {
  const CoreId here = this_core().id();
  const CoreSet online = usable();
  if (!groups_.settled(entity)) [[unlikely]] {
    renew_mask(entity);
    if (!groups_.settled(entity)) return place_in_group(entity, reason, online, scores);
  }
  CoreSet candidates = online & entity.allowed;
  if (candidates.empty()) [[unlikely]] {
    if (online.empty()) return here;  // start-up, before any core is online: the only one there is
    widened_.fetch_add(1, Order::relaxed);
    entity.asked = entity.allowed = CoreSet::all();
    candidates = online;
  }
  if (planted(Plant::mask_ignored_by_placement)) candidates = online;
  const bool stays = planted(Plant::overload_on_wake_up) && candidates.contains(here);
  const CoreId chosen = stays ? here : placer_.choose(entity, reason, candidates, here, clock::now(), scores);
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

CoreSet SchedulingManager::real_time_candidates(const sched::SchedulingEntity& entity) const {
  return planted(Plant::mask_ignored_by_real_time) ? usable() : cores_for(entity);
}

void SchedulingManager::offer_room() {
  fence(Order::seq_cst);
  CoreSet asked = real_time_waits_.snapshot(Order::relaxed);
  Scheduler& own = *this_core().scheduler;
  asked.remove(own.core().id());
  if (asked.empty()) return;
  this_core().outbox().send_also(own.room_, {MessageType::real_time_room, {}}, asked);
}

Result<void> SchedulingManager::set_placement(std::string_view text, sched::Refusal& why) {
  sched::TunableValues values;
  const sched::PlacementDescriptor* placement = sched::choose_placement(text, tick_, values, why);
  if (placement == nullptr) return Errno::einval;
  LockGuard guard{lock_};
  if (!use(placer_.policies(), *placement, values, why)) return Errno::einval;
  if (sched::counting::want(placement->goes_by_resources))
    announce();  // a thread that is alone would not be looked at for long
  note_change(changes_, "placement", text);
  return {};
}

bool SchedulingManager::is_complete(std::string_view what, const CoreSet& under_way, sched::Refusal& why) const {
  if (under_way.empty()) return true;
  why.length =
      format_to(why.text, "the last change of {} has not reached core {} yet; try again", what, under_way.lowest()).size();
  return false;
}

template <class ChoiceOf>
Errno SchedulingManager::spread(const CoreSet& where, ChoiceOf&& choice_of) {
  // All objects first, so that lack of memory changes nothing.
  Errno error{};
  where.for_each([&](CoreId core) {
    if (error != Errno{}) return;
    Scheduler& timeline = *scheduler(core);
    const Choice choice = choice_of(timeline);
    auto installation = timeline.prepare(*choice.algorithm, choice.values);
    timeline.prepared_ = installation.ok() ? installation.value() : nullptr;
    if (!installation.ok()) error = installation.error();
  });
  where.for_each([&](CoreId core) {
    Scheduler& timeline = *scheduler(core);
    Scheduler::Installation* prepared = std::exchange(timeline.prepared_, nullptr);
    if (error == Errno{}) {
      timeline.want_algorithm(*prepared);
    } else {
      Scheduler::discard(prepared);
    }
  });
  if (error == Errno{}) announce();  // a core whose only thread runs without a tick would not look for long
  return error;
}

Result<void> SchedulingManager::set_algorithm(std::string_view text, sched::Refusal& why, const CoreSet& where) {
  sched::TunableValues values;
  const sched::AlgorithmDescriptor* algorithm = sched::choose_algorithm(text, tick_, values, why);
  if (algorithm == nullptr) return Errno::einval;
  LockGuard guard{lock_};
  const CoreSet all = cores() & where;
  CoreSet changing;
  (all & cores::online()).for_each([&](CoreId core) {
    if (scheduler(core)->is_changing()) changing.add(core);
  });
  if (!is_complete("the algorithm", changing, why)) return Errno::ebusy;
  const Errno error = spread(all, [&](const Scheduler&) { return Choice{algorithm, values}; });
  if (error == Errno::einval) why.length = format_to(why.text, "{} failed while it was made", text).size();
  if (error != Errno{}) return error;
  all.for_each([&](CoreId core) {
    scheduler(core)->chosen_ = algorithm;
    scheduler(core)->chosen_values_ = values;
  });
  if (all == cores()) {  // also of cores to come
    tunables_ = values;
    algorithm_.store(algorithm, Order::release);
  }
  note_change(changes_, "algorithm", text);
  return {};
}

Result<void> SchedulingManager::record_decisions(bool recorded) {
  LockGuard guard{lock_};
  const Errno error =
      spread(cores(), [](const Scheduler& timeline) { return Choice{timeline.chosen_, timeline.chosen_values_}; });
  if (recorded && error != Errno{}) return error;  // placements and migrations alone are no recording
  placer_.policies().ask_by(recorded ? &placement_recorder : nullptr);
  migrator_.policies().ask_by(recorded ? &migration_recorder : nullptr);
  return error == Errno{} ? Result<void>{} : error;
}

Result<void> SchedulingManager::set_migration(std::string_view text, sched::Refusal& why) {
  sched::TunableValues values;
  const sched::MigrationDescriptor* migration = sched::choose_migration(text, tick_, values, why);
  if (migration == nullptr) return Errno::einval;
  LockGuard guard{lock_};
  if (!use(migrator_.policies(), *migration, values, why)) return Errno::einval;
  set_kept();
  note_change(changes_, "migration", text);
  announce();  // cores that sleep ask by the new policy
  return {};
}

void SchedulingManager::announce() {
  Scheduler& own = *this_core().scheduler;
  own.want_reschedule();
  CoreSet others = cores();
  others.remove(own.core().id());
  this_core().outbox().send_also(own.announcement_, {MessageType::reschedule, {}}, others);
}

}  // namespace corral
