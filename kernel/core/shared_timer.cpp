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
  here.timers().add(event_, when_);
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

void SharedTimer::set(Instant when) {
  lock_.assert_held();
  when_ = when;
  Core& here = this_core();
  if (home_ == nullptr || home_ == &here) {
    if (when != never) {
      enqueue(here);
    } else if (home_ != nullptr) {
      dequeue(here);
    }
  } else if (when < event_.when()) {
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
    const Instant when = timer.when_;
    if (when != never && when <= clock::now()) {
      timer.when_ = never;
      timer.due();
    } else if (when != never) {
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
      if (timer.when_ == never) {
        timer.dequeue(core);
      } else {
        timer.enqueue(core);
      }
    }
  }
  timer.let_go();
}

void SharedTimer::initialise() {
  set_message_handler(MessageType::shared_timer, on_message);
}

}  // namespace corral
