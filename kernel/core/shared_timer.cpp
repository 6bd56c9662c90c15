// See shared_timer.h.
#include "core/shared_timer.h"

#include "device/clock.h"
#include "lib/container.h"

namespace corral {

void SharedTimer::enqueue(Core& here) {
  if (home_ == nullptr) {
    home_ = &here;
    keep();
  }
  looks_at_ = clock::instant_of(deadline_);
  looks_when_set_ = deadline_.by_wall();
  here.timers().add(event_, looks_at_, looks_when_set_);
  here.rearm_timer();
}

void SharedTimer::dequeue(Core& here) {
  here.timers().cancel(event_);
  home_ = nullptr;
  let_go();
}

void SharedTimer::tell_home() {
  if (letter_out_) return;  // it will find what is wanted then
  letter_out_ = true;
  keep();
  letter_.message = {MessageType::shared_timer, {reinterpret_cast<u64>(this), 0, 0}};
  this_core().outbox().send_to(*home_, letter_);
}

void SharedTimer::set(Deadline deadline) {
  lock_.assert_held();
  deadline_ = deadline;
  Core& here = this_core();
  if (home_ == nullptr || home_ == &here) {
    if (!deadline.is_never()) {
      enqueue(here);
    } else if (home_ != nullptr) {
      dequeue(here);
    }
  } else if (clock::instant_of(deadline) < looks_at_ || (deadline.by_wall() && !looks_when_set_)) {
    tell_home();
  }
}

void SharedTimer::withdraw() {
  set(never);
  if (home_ != nullptr) tell_home();
}

void SharedTimer::on_event(TimerEvent& event) {
  SharedTimer& timer = container_of(event, &SharedTimer::event_);
  {
    LockGuard guard{timer.lock_};
    timer.home_ = nullptr;
    const Deadline deadline = timer.deadline_;
    if (deadline.by_wall()) timer.wall_clock_set();
    if (!deadline.is_never() && clock::instant_of(deadline) <= clock::now()) {
      timer.deadline_ = never;
      timer.due();
    } else if (!deadline.is_never()) {
      timer.enqueue(this_core());
    }
  }
  timer.let_go();  // the reference of the event that has fired
}

void SharedTimer::on_message(Core& core, const Message& message) {
  auto& timer = *reinterpret_cast<SharedTimer*>(message.word[0]);
  {
    LockGuard guard{timer.lock_};
    timer.letter_out_ = false;
    if (timer.home_ == &core) {
      if (timer.deadline_.is_never()) {
        timer.dequeue(core);
      } else {
        timer.enqueue(core);
      }
    } else if (timer.home_ != nullptr) {
      timer.tell_home();  // it fired and was set elsewhere meanwhile; what was set after that, nobody has told
    }
  }
  timer.let_go();
}

void SharedTimer::initialise() {
  set_message_handler(MessageType::shared_timer, on_message);
}

}  // namespace corral
