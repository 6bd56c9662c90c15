// Threads and the global queue (sched/engine/global_queue.h), while there is one. See executive.h. Between two steps or two threads,
// interrupts off; not under a lock, but for take_from_global().
//
// A thread that may run on every core of its group waits there instead of in a core's run queue. It has no home then: a core that
// wants it, to run it or because something is asked of it, takes it out and becomes its home. A core that has nothing more
// urgent takes the first one as a *guest* into its own run queue, where the core's timeline chooses between the guest and those who
// are bound to this core; with nobody else there, the guest runs at once. At the end of its turn it goes back; or earlier, if it waits
// while another core has nothing to run.
#include "arch/processor.h"
#include "device/clock.h"
#include "lib/planted.h"
#include "sched/engine/manager.h"
#include "sync/interleave.h"
#include "task/executive.h"

namespace corral {

using sched::EnqueueReason;
using sched::GlobalQueue;
using sched::MigrationReason;
using sched::SchedulingEntity;

void Executive::enter_global(Thread& thread, EnqueueReason reason) {
  SchedulingManager& manager = scheduling();
  GlobalQueue& queue = manager.global_queue();
  let_go_of(thread);
  if (reason == EnqueueReason::woken || reason == EnqueueReason::created) note_enqueued(thread, reason);
  const u32 level = GlobalQueue::level_of(thread.entity);
  const CoreId favourite = thread.entity.last_core;
  sched::Turns::begin_wait(thread.entity, clock::now());
  queue.put(thread.entity, reason, manager.tick(), [&](SchedulingEntity&) { thread.set_home(sched::no_core); });
  interleave::point();
  // From here on the thread may be another core's, and gone.
  if (!queue.in_use()) return core_.scheduler->want_reschedule();  // schedule() empties it
  const CoreId told = queue.whom_to_tell(level, favourite, manager.group_of(false));
  if (told == core_.id()) {
    core_.scheduler->want_reschedule();
  } else if (told != sched::no_core) {
    // When its mailbox is full it has something to read, and looks for itself.
    (void)cores::get(told).post(Message{MessageType::reschedule, {}});
  }
}

bool Executive::enter_global_again(Thread& thread) {
  using Place = SchedulingEntity::Place;
  if (thread.state() != ThreadState::runnable) return false;
  const bool waits_here = thread.entity.place == Place::queued;
  if (!waits_here && thread.entity.place != Place::nowhere) return false;
  if (scheduling().waits_globally(thread.entity)) {
    if (waits_here) (void)core_.scheduler->remove(thread.entity);
    enter_global(thread, EnqueueReason::preempted);
  } else if (waits_here) {
    return false;
  } else {
    send_to(thread, choose_core(thread, sched::PlacementReason::woken), EnqueueReason::migrated, MigrationReason::mask);
  }
  return true;
}

bool Executive::take_from_global(Thread& thread) {
  if (!scheduling().global_queue().take_out(thread.entity, [&](SchedulingEntity&) { thread.set_home(core_.id()); }))
    return false;
  core_.scheduler->end_wait(thread.entity);
  look_later(thread);  // which puts it back
  return true;
}

Thread* Executive::take_first_from_global() {
  SchedulingEntity* entity =
      scheduling().global_queue().take([&](SchedulingEntity& taken) { Thread::of(taken).set_home(core_.id()); });
  if (entity == nullptr) return nullptr;
  core_.scheduler->end_wait(*entity);
  return &Thread::of(*entity);
}

bool Executive::takes_from_global() const {
  if (planted(Plant::global_cores_left_out) && core_.id() != scheduling().group_of(false).lowest()) return false;
  return scheduling().group_of(false).contains(core_.id());
}

void Executive::invite_guest() {
  if (!scheduling().global_queue().in_use()) return empty_global();
  Scheduler& own = *core_.scheduler;
  if (!own.wants_guest() || !takes_from_global()) return;
  interleave::point();  // the groups may change before somebody is taken
  Thread* const guest = take_first_from_global();
  if (guest == nullptr) return;
  interleave::point();
  // Its mask may be newer than the groups by which this core came here: the message about them has not been read yet.
  if (scheduling().is_settled(guest->entity) && !guest->entity.allowed.contains(core_.id())) {
    (void)enter_global_again(*guest);
    return;
  }
  if (guest->entity.has_run()) note_migration(*guest, guest->entity.last_core, core_.id(), MigrationReason::global);
  scheduling().send(guest->entity, core_.id());
  if (!enqueue_here(*guest, EnqueueReason::migrated)) return;
  own.note_guest(guest->entity);
  if (guest->has_requests()) look_at(*guest);
}

void Executive::begin_global_turn(Thread& thread) {
  SchedulingManager& manager = scheduling();
  const bool gives_way = manager.waits_globally(thread.entity);
  manager.global_queue().note_running(core_.id(), gives_way ? GlobalQueue::level_of(thread.entity) : GlobalQueue::above_all);
  core_.scheduler->limit_turn();
  offer_guest();
}

void Executive::offer_guest() {
  SchedulingManager& manager = scheduling();
  GlobalQueue& queue = manager.global_queue();
  SchedulingEntity* const guest = core_.scheduler->guest();
  if (guest == nullptr) return queue.end_hosting(core_.id());
  if (!queue.begin_hosting(core_.id(), manager.group_of(false)) || !manager.waits_globally(*guest)) return;
  queue.end_hosting(core_.id());
  (void)core_.scheduler->remove(*guest);
  enter_global(Thread::of(*guest), EnqueueReason::preempted);
}

bool Executive::may_sleep_beside_global() {
  GlobalQueue& queue = scheduling().global_queue();
  queue.end_hosting(core_.id());
  if (!takes_from_global()) return true;
  if (!queue.begin_idle(core_.id())) {
    arch::pause();  // others are taking the last ones
    return false;
  }
  const CoreId host = queue.host_to_tell(scheduling().group_of(false));
  if (host != sched::no_core) scheduling().ask_to_look(host);
  return true;
}

void Executive::empty_global() {
  while (!scheduling().global_queue().in_use()) {
    Thread* const thread = take_first_from_global();
    if (thread == nullptr) return;
    (void)enter_global_again(*thread);
  }
}

void Executive::take_arrangement() {
  core_.scheduler->want_reschedule();  // to empty the global queue; or who runs here has its turn from it
  if (!scheduling().global_queue().in_use()) return;
  core_.scheduler->for_each_here([&](SchedulingEntity& entity) {
    if (entity.place != SchedulingEntity::Place::queued || !scheduling().waits_globally(entity)) return;
    (void)core_.scheduler->remove(entity);
    enter_global(Thread::of(entity), EnqueueReason::preempted);
  });
}

void Executive::on_queues(Core& core, const Message&) {
  core.executive->take_arrangement();
  scheduling().queues_taken();
}

}  // namespace corral
