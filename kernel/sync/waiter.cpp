// Waiting without spinning: who takes a waiter off its queue, when a waker, a time-out and a signal come at once.
// Any context; interrupts off. Neighbours: sync/wait_place.h (the hand-shake between cores), sync/spin_lock.h; task/
// derives Thread from Waiter.
#include "sync/waiter.h"

#include "arch/processor.h"
#include "lib/planted.h"
#include "sync/interleave.h"
#include "trace/panic.h"

namespace corral {
namespace {

static_assert(alignof(WaitQueue) >= 4, "WaitPlace tells addresses of queues from its marks");

u64 place_of(const WaitQueue& queue) {
  return reinterpret_cast<u64>(&queue);
}

}  // namespace

void WaitQueue::enlist(Waiter& waiter, bool interruptible) {
  KERNEL_ASSERT(!waiter.place_.waits());
  waiter.interruptible_ = interruptible;
  waiters_.push_back(waiter);
  waiter.place_.enter(place_of(*this));
}

Errno WaitQueue::wait(Waiter& waiter, Deadline deadline) {
  lock_.assert_held();
  if (waiter.interrupted()) return Errno::restart;
  enlist(waiter, true);
  if (!deadline.is_never()) waiter.set_timeout(deadline);
  return Errno::blocked;
}

Errno WaitQueue::wait_uninterruptible(Waiter& waiter) {
  lock_.assert_held();
  enlist(waiter, false);
  return Errno::blocked;
}

bool WaitQueue::empty() {
  lock_.assert_held();
  return waiters_.empty();
}

Waiter* WaitQueue::dequeue() {
  Waiter* waiter = waiters_.pop_front();
  if (waiter == nullptr) return nullptr;
  const bool left = waiter->place_.leave(place_of(*this), arch::pause);
  KERNEL_ASSERT(left);
  return waiter;
}

void WaitQueue::strike_out(Waiter& waiter) {
  if (!waiter.place_.waits_at(place_of(*this))) return;  // pinned it cannot be: that would be this core
  waiters_.remove(waiter);
  waiter.place_.clear();
}

bool WaitQueue::wake_one() {
  lock_.assert_held();
  Waiter* waiter = dequeue();
  if (waiter == nullptr) return false;
  if (planted_now_and_then(Plant::queue_wake_lost, 50)) return true;
  waiter->wake(WakeReason::woken);
  return true;
}

u32 WaitQueue::wake_all() {
  lock_.assert_held();
  u32 count = 0;
  while (wake_one()) ++count;
  return count;
}

bool WaitQueue::take_off(Waiter& waiter, bool only_interruptible) {
  for (;;) {
    const u64 place = waiter.place_.pin();
    if (place == 0) return false;
    interleave::point();
    WaitQueue& queue = *reinterpret_cast<WaitQueue*>(place);
    if (only_interruptible && !waiter.interruptible_) {
      static_cast<void>(waiter.place_.unpin(place));
      return false;
    }
    KERNEL_ASSERT(!queue.lock_.held_here());  // else this would go on for ever
    if (queue.lock_.try_lock()) {  // now nobody else can take it off
      queue.waiters_.remove(waiter);
      waiter.place_.clear();
      queue.lock_.unlock();
      return true;
    }
    if (!waiter.place_.unpin(place)) return false;
    arch::pause();
  }
}

bool StepMutex::acquire(Waiter& waiter) {
  lock_.assert_held();
  if (holder_ == &waiter) return true;
  if (holder_ == nullptr) {
    holder_ = &waiter;
    return true;
  }
  const Errno result = queue_.wait_uninterruptible(waiter);
  KERNEL_ASSERT(result == Errno::blocked);
  return false;
}

void StepMutex::hand_on() {
  queue_.lock_.assert_held();  // the same lock as lock_, by another name
  holder_ = queue_.dequeue();
  if (holder_ != nullptr) holder_->wake(WakeReason::woken);
}

void StepMutex::release(Waiter& waiter) {
  lock_.assert_held();
  KERNEL_ASSERT(holder_ == &waiter);
  hand_on();
}

bool StepMutex::held_by(const Waiter& waiter) const {
  lock_.assert_held();
  return holder_ == &waiter;
}

void StepMutex::forget(Waiter& waiter) {
  lock_.assert_held();
  if (holder_ == &waiter) {
    hand_on();
  } else {
    queue_.lock_.assert_held();
    queue_.strike_out(waiter);
  }
}

}  // namespace corral
