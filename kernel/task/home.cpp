// How a thread comes to have another home. See executive.h, and the head of executive.cpp for why nobody ever finds it in two places.
#include "sched/engine/manager.h"
#include "sync/interleave.h"
#include "task/executive.h"

namespace corral {

using sched::MigrationReason;

void Executive::let_go_of(Thread& thread) {
  switches_.gives_away(thread);
  if (floating_point_owner_ == &thread) {
    thread.fp.save();
    floating_point_owner_ = nullptr;
  }
  forget_look(thread);  // its new home looks at what is still asked of it when it arrives
}

void Executive::note_migration(Thread& thread, CoreId from, CoreId to, MigrationReason why) {
  if (from == to) return;
  thread.migrations.store(thread.migrations.load(Order::relaxed) + 1, Order::relaxed);  // only home writes
  trace::migration(thread, why, from, to);
}

void Executive::hand_over(Thread& thread, CoreId target, sched::EnqueueReason reason, MigrationReason why) {
  let_go_of(thread);
  if (reason != sched::EnqueueReason::created) {
    // Who wakes it may be another core than the one where it slept.
    const CoreId from = reason == sched::EnqueueReason::woken ? thread.entity.last_core : core_.id();
    note_migration(thread, from, target, why);
  }
  if (!thread.entity.allowed.contains(target)) [[unlikely]]
    check_mask(thread, target);
  Letter& letter = thread.arrival_letter();
  letter.message = {MessageType::arrive, {reinterpret_cast<u64>(&thread), static_cast<u64>(reason), static_cast<u64>(why)}};
  thread.set_home(target);
  core_.outbox().send_to(cores::get(target), letter);
}

// Right only where its mask is not up to date: the groups have changed since its core was chosen, and its new home will notice.
void Executive::check_mask(const Thread& thread, CoreId target) {
  if (scheduling().cores_for(thread.entity).contains(target) || !scheduling().is_settled(thread.entity)) return;
  core_.scheduler->violated(invariants::Invariant::affinity, invariants::During::hand_over, &thread.entity);
}

// Who asks something of it from now on becomes its home, or has told this core, which becomes it then.
void Executive::leave_to_wakers(Thread& thread) {
  let_go_of(thread);
  interleave::point();
  thread.set_home(Thread::anybody);
}

void Executive::on_thread_message(Core& core, const Message& message) {
  auto& thread = *reinterpret_cast<Thread*>(message.word[0]);
  const CoreId home = thread.settled_home();
  if (home != core.id()) {  // it has moved meanwhile: forward
    core.outbox().send_to(cores::get(home), thread.request_letter());
    return;
  }
  thread.message_arrived();
  thread.entity.woken_by_interrupt = false;
  core.executive->look_at(thread);
  thread.drop();  // the message's reference
}

void Executive::on_arrival(Core& core, const Message& message) {
  auto& thread = *reinterpret_cast<Thread*>(message.word[0]);
  Executive& executive = *core.executive;
  executive.migrations_.note_arrival(static_cast<MigrationReason>(message.word[2]) == MigrationReason::pulled);
  if (!executive.enqueue_here(thread, static_cast<sched::EnqueueReason>(message.word[1]))) return;
  if (thread.has_requests()) {
    executive.look_at(thread);
  } else {
    executive.send_away_unless_allowed(thread);  // its wishes may have been taken here before it came
  }
}

}  // namespace corral
