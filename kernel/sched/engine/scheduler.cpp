#include "sched/engine/scheduler.h"

#include <algorithm>
#include <utility>

#include "device/clock.h"
#include "lib/container.h"
#include "lib/format.h"
#include "memory/heap.h"
#include "sched/engine/fallbacks.h"
#include "sched/engine/manager.h"
#include "sync/interleave.h"
#include "trace/trace.h"

namespace corral {

using sched::SchedulingEntity;

namespace {

bool destroy(sched::SchedulingAlgorithm& algorithm) {
  algorithm.~SchedulingAlgorithm();
  return true;
}

}  // namespace

Scheduler::Scheduler(Core& core, sched::CoreStatistics& published, Duration tick)
    : Device{device_class_object}, core_{core}, tick_{tick}, published_{published}, queue_{core.id(), published, tick} {
  queue_.set_listener(*this);
}

Result<Scheduler::Installation*> Scheduler::prepare(const sched::AlgorithmDescriptor& algorithm,
                                                    const sched::TunableValues& tunables) const {
  // The descriptor's alignment is 64: the heap gives that from 64 bytes on.
  constexpr size_t before = round_up(sizeof(Installation), cache_line);
  void* memory = memory::allocate(before + round_up(algorithm.size, cache_line));
  if (memory == nullptr) return Errno::enomem;
  void* storage = static_cast<u8*>(memory) + before;
  const sched::AlgorithmParameters parameters{core_.id(), tick_, tunables};
  sched::SchedulingAlgorithm* made = nullptr;
  Duration holds_back{};
  const bool well = arch::ask_guarded(made, algorithm.make, storage, parameters) &&
                    (algorithm.holds_back == nullptr || arch::ask_guarded(holds_back, algorithm.holds_back, parameters));
  if (!well) {
    memory::release(memory);
    sched::fallbacks::note_not_made(algorithm);
    return Errno::einval;
  }
  auto* installation = ::new (memory) Installation{&algorithm, made, holds_back, tunables};
  if (trace::wants(trace::Event::timeline_called)) {
    installation->recorded = true;
    installation->recorder.stand_for(*made, algorithm, parameters);
  }
  return installation;
}

void Scheduler::discard(Installation* installation) {
  if (installation == nullptr) return;
  // One that fails in its destructor leaves nothing that anybody needs.
  bool done = false;
  if (!installation->failed) static_cast<void>(arch::ask_guarded(done, destroy, *installation->algorithm));
  memory::release(installation);
}

void Scheduler::adopt(Installation& installation, Instant now) {
  incoming_ = &installation;
  queue_.install(installation.front(), now, installation.holds_back, installation.descriptor->departs);
  discard(installed_);
  installed_ = std::exchange(incoming_, nullptr);
  in_use_.store(installation.failed ? &sched::SafeTimeline::descriptor : installation.descriptor, Order::release);
}

void Scheduler::fell_back(sched::RunQueue& queue, sched::SchedulingAlgorithm& failed, sched::Misdeed misdeed,
                          sched::PolicyCall call, Instant now) {
  Installation& guilty = incoming_ != nullptr && &incoming_->front() == &failed ? *incoming_ : *installed_;
  guilty.failed = true;
  in_use_.store(&sched::SafeTimeline::descriptor, Order::release);
  sched::fallbacks::note_timeline(queue, *guilty.descriptor, guilty.values, misdeed, call, now);
}

void Scheduler::violated(const invariants::Violation& violation) {
  invariants::report(violation);
}

void Scheduler::check(invariants::During during) {
  const Instant now = clock::now();
  queue_.check(during, now);
  if (during == invariants::During::sleep) return;
  if (queue_.waiting() != 0) idle_watch_.look(*this, queue_, now);
  if (scheduling().global_queue().waiting() != 0) [[unlikely]]
    idle_watch_.look_beside_global(*this, queue_, now);
}

Result<void> Scheduler::start(const sched::AlgorithmDescriptor& algorithm, const sched::TunableValues& tunables) {
  if (installed_ != nullptr) return Errno::ebusy;
  adopt(*TRY(prepare(algorithm, tunables)), clock::now());
  published_.begin_idle(clock::now());
  return {};
}

Result<void> Scheduler::change_algorithm(const sched::AlgorithmDescriptor& algorithm, const sched::TunableValues& tunables) {
  Installation* installation = TRY(prepare(algorithm, tunables));
  discard(wanted_.exchange(nullptr, Order::acq_rel));  // an older wish
  const Instant now = clock::now();
  adopt(*installation, now);
  continue_until(queue_.review(now), now);
  return {};
}

void Scheduler::want_algorithm(Installation& installation) {
  discard(wanted_.exchange(&installation, Order::acq_rel));
}

void Scheduler::look(Instant now) {
  if (wanted_.load(Order::relaxed) == nullptr) [[likely]]
    return;
  Installation* installation = wanted_.exchange(nullptr, Order::acq_rel);
  if (installation != nullptr) adopt(*installation, now);
}

Instant Scheduler::limited_by_turn(Instant until, Instant now) {
  return global_turn_.limit(scheduling().global_queue(), running(), until, now);
}

void Scheduler::limit_turn() {
  const Instant now = clock::now();
  global_turn_.begin(scheduling().global_queue(), *queue_.running(), now);
  continue_until(slice_end_, now);
}

bool Scheduler::wants_guest() const {
  return global_turn_.wants_guest(queue_.real_time_waiting() != 0, clock::now());
}

void Scheduler::end_wait(SchedulingEntity& entity) {
  queue_.end_wait(entity, clock::now());
}

bool Scheduler::starves_globally(Duration waited, u32 weight) const {
  const sched::StarvationWatch& watch = queue_.starvation();
  return watch.exceeds(waited, 1) && watch.exceeds(waited, scheduling().shares_beside_global(weight));
}

void Scheduler::continue_until(Instant until, Instant now) {
  until = limited(until, now);
  if (until <= now) {
    want_reschedule();
  } else if (until != slice_end_) {
    slice_end_ = until;
    if (running() != nullptr) arm(until, now);
  }
}

void Scheduler::arm(Instant until, Instant now) {
  if (interleave::active() && running() != nullptr) [[unlikely]] {
    until = std::min(until, now + interleave::plan().distance());
  }
  if (core_.arm_timer(until) > slice_end_) [[unlikely]]
    violated(invariants::Invariant::timer, invariants::During::arming, running());
}

void Scheduler::set_renewal() {
  core_.timers().cancel(renewal_);
  const Instant next = queue_.next_renewal();
  if (next == never) return;
  core_.timers().add(renewal_, next);
  core_.rearm_timer();
}

void Scheduler::on_renewal(TimerEvent& event) {
  Scheduler& scheduler = container_of(event, &Scheduler::renewal_);
  const Instant now = clock::now();
  scheduler.continue_until(scheduler.queue_.renew_resting(now), now);
  scheduler.watch_renewals();
  if (scheduler.queue_.real_time_changed()) scheduler.core_.attention = true;
}

void Scheduler::enqueue(SchedulingEntity& entity, sched::EnqueueReason reason) {
  const Instant now = clock::now();
  look(now);
  continue_until(queue_.enqueue(entity, reason, now), now);
  watch_renewals();
  if (queue_.real_time_changed()) [[unlikely]]
    core_.attention = true;
}

SchedulingEntity* Scheduler::pick_next() {
  const Instant now = clock::now();
  look(now);
  const sched::Decision decision = queue_.pick(now);
  reschedule_wanted_ = false;
  if (global_turn_.any()) [[unlikely]]
    global_turn_.end(decision.entity);
  slice_end_ = decision.entity == nullptr ? never : std::max(decision.until, now + sched::RunQueue::shortest_turn(tick_));
  if (decision.entity != nullptr) arm(slice_end_, now);  // an idle core's timer is set by Core::sleep()
  return decision.entity;
}

void Scheduler::leave(SchedulingEntity& running, sched::LeaveReason reason) {
  queue_.leave(running, reason, clock::now());
  watch_renewals();
}

bool Scheduler::remove(SchedulingEntity& waiting) {
  global_turn_.forget(waiting);
  return queue_.remove(waiting, clock::now());
}

void Scheduler::on_timer(bool others_due) {
  const Instant now = clock::now();
  look(now);
  // Timers of threads expire as often as programs like: what looks at many who wait is for the tick.
  const bool ticked = now - last_tick_ >= (others_due ? tick_ + tick_ : tick_);
  if (ticked) {
    last_tick_ = now;
    queue_.look_for_starving(now);
  }
  const Instant until = limited(queue_.review(now), now);
  if (until <= now) want_reschedule();
  // What was armed has fired: arm again in any case; but for a slice that is over, pick_next() does.
  slice_end_ = until <= now || running() == nullptr ? never : until;
  if (interleave::active() && running() != nullptr && interleave::plan().ends_slice()) [[unlikely]]
    want_reschedule();
  arm(slice_end_, now);
  if (!ticked) return;
  sched::GlobalQueue& global = scheduling().global_queue();
  if (global.in_use() && queue_.starvation().is_on()) [[unlikely]]
    global_turn_.pass(global, queue_.starvation().clock());
  if (queue_.waiting() != 0 || global.waiting() != 0) check(invariants::During::tick);
}

void Scheduler::update_running() {
  queue_.charge(clock::now());
}

void Scheduler::change(SchedulingEntity& entity, const sched::RunQueue::Wishes& wishes) {
  const Instant now = clock::now();
  queue_.change(entity, wishes, now);
  watch_renewals();
  continue_until(queue_.review(now), now);
  if (queue_.real_time_changed()) core_.attention = true;
}

size_t Scheduler::describe(char* to, size_t size) const {
  return format_to({to, size}, "timeline of core {}: {}, {} runnable", core_.id(), algorithm().name, published_.runnable())
      .size();
}

}  // namespace corral
