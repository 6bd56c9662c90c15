// See check_rounds.h.
#include "task/check_rounds.h"

#include <algorithm>

#include "device/clock.h"
#include "lib/container.h"
#include "sched/engine/manager.h"
#include "task/process_table.h"
#include "task/thread.h"

namespace corral {

using invariants::During;
using invariants::Invariant;
using Place = sched::SchedulingEntity::Place;

namespace {

// Of a thread of this core, between two steps.
bool is_right(const Thread& thread) {
  const Place place = thread.entity.place;
  switch (thread.state()) {
    case ThreadState::runnable:
      if (place == Place::queued || place == Place::resting || place == Place::on_the_way) return true;
      // Taken out of the global queue because something is asked of it, which this core does between its next two steps.
      return place == Place::nowhere && thread.to_be_looked_at();
    case ThreadState::running: return place == Place::running;
    case ThreadState::sleeping:
    case ThreadState::terminated: return place == Place::nowhere;
    case ThreadState::created: return true;  // its maker, on whatever core, has not started it
  }
  return false;
}

// As any core may see them.
bool is_on_the_way(const Thread& thread) {
  Place place{};
  __atomic_load(&thread.entity.place, &place, __ATOMIC_RELAXED);
  return place == Place::on_the_way;
}

// Who asks something of it takes it first.
bool is_left_with_requests(const Thread& thread) {
  return thread.home() == Thread::anybody && thread.has_requests();
}

// Another number means that it has got on meanwhile.
u64 turns_of(const Thread& thread) {
  return thread.voluntary_switches.load(Order::relaxed) + thread.migrations.load(Order::relaxed) + thread.messages_arrived();
}

}  // namespace

void CheckRounds::begin() {
  if (event_.pending()) return;
  core_.timers().add(event_, clock::now() + between);
  core_.rearm_timer();
}

void CheckRounds::on_time(TimerEvent& event) {
  container_of(event, &CheckRounds::event_).look();
}

void CheckRounds::look() {
  core_.scheduler->check(During::round);
  progress_now_ = progress_.look();
  look_at_threads();
  if (last_thread_ == 0) forget_cleared();
  const bool suspicious = std::ranges::any_of(suspects_, [](const Suspect& each) { return each.thread != 0 && !each.told; });
  if (core_.scheduler->running() != nullptr || last_thread_ != 0 || suspicious) {
    core_.timers().add(event_, clock::now() + between);  // who runs timers arms the hardware afterwards
  }
}

void CheckRounds::look_at_threads() {
  ProcessTable& table = process_table();
  LockGuard guard{table.lock};
  Thread* thread = table.next(ThreadId{last_thread_});
  for (u32 i = 0; thread != nullptr && i < most_looked_at; ++i) {
    last_thread_ = thread->id().value;
    // Only its home gives it another home, or leaves it to nobody.
    if (thread->home() == core_.id()) look_at_own(*thread);
    look_whether_forgotten(*thread);
    thread = table.next(*thread);
  }
  if (thread == nullptr) last_thread_ = 0;
}

void CheckRounds::look_at_own(Thread& thread) {
  if (!is_right(thread)) core_.scheduler->violated(Invariant::one_place, During::round, &thread.entity);
  const bool sleeps = thread.state() == ThreadState::sleeping;
  if (sleeps && thread.has_requests() && !thread.message_on_the_way() && !thread.to_be_looked_at()) {
    core_.scheduler->violated(Invariant::lost_wake_up, During::round, &thread.entity);
  }
}

void CheckRounds::look_whether_forgotten(Thread& thread) {
  const ThreadState state = thread.state();
  const Duration clock = scheduling().global_queue().clock();  // before home(): see there
  if (thread.message_on_the_way()) {
    suspect(thread, Invariant::lost_message);
  } else if (thread.home() == sched::no_core) {
    look_in_global(thread, clock);
  } else if (state == ThreadState::runnable && is_on_the_way(thread)) {
    suspect(thread, Invariant::lost_arrival);
  } else if (state == ThreadState::sleeping &&
             (is_left_with_requests(thread) || (!thread.has_requests() && !thread.waits_for_something()))) {
    suspect(thread, Invariant::lost_wake_up);
  }
}

// Of one that is nobody's: whether a core will come to it there, and in time.
void CheckRounds::look_in_global(Thread& thread, Duration clock) {
  const sched::SchedulingEntity& entity = thread.entity;
  if (!scheduling().global_queue().finds(entity)) return suspect(thread, Invariant::one_queue);
  const Duration waited = clock - entity.global_since.load(Order::relaxed);
  const u32 weight = __atomic_load_n(&entity.weight, __ATOMIC_RELAXED);
  if (core_.scheduler->starves_globally(waited, weight)) suspect(thread, Invariant::starvation);
}

void CheckRounds::suspect(Thread& thread, Invariant invariant) {
  const i32 number = thread.id().value;
  Suspect* known = std::ranges::find(suspects_, number, &Suspect::thread);
  if (known == std::end(suspects_)) known = std::ranges::find(suspects_, 0, &Suspect::thread);
  if (known == std::end(suspects_)) return;  // there are enough
  const u64 turns = turns_of(thread);
  if (known->thread != number || known->invariant != invariant || known->turns != turns) *known = {number, invariant, turns};
  known->again = true;
  if (++known->rounds == 1 || known->progress != progress_now_) ++known->found;
  known->progress = progress_now_;
  if (known->told || (known->found < most_found && known->rounds < most_rounds)) return;
  known->told = true;
  core_.scheduler->violated(invariant, During::round, &thread.entity);
}

// All threads were looked at. Who was told of stays here, so that it is told of once.
void CheckRounds::forget_cleared() {
  for (Suspect& each : suspects_) {
    if (!each.again) each = {};
    each.again = false;
  }
}

}  // namespace corral
