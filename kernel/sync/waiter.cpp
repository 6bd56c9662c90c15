// Waiting without spinning: who takes a waiter off its queue, when a waker, a time-out and a signal come at once.
//
// The difficulty: the home core ends a wait (time-out, signal) knowing only the waiter. It must read which queue that is
// before it can take that queue's lock, and a waker on another core may meanwhile end the wait and even free the
// queue. The word Waiter::place_ is the hand-shake:
//
//   0        does not wait
//   q        waits on q; set and taken back under q's lock
//   q | 1    as q, and the home core is about to try q's lock: q must not go away
//   taken    a waker took it off while the home core was trying; the home core answers with 0, then q may go away
//
// The home core only *tries* the lock, so a waker may wait for the answer with the lock held: it comes after a few
// instructions. Any context; interrupts off. Neighbours: sync/spin_lock.h; task/ derives Thread from Waiter.
#include "sync/waiter.h"

#include "arch/processor.h"
#include "trace/panic.h"

namespace corral {
namespace {

constexpr u64 pinned = 1;
constexpr u64 taken = 2;
static_assert(alignof(WaitQueue) > taken, "the addresses of queues are told apart from the marks");

u64 place_of(const WaitQueue& queue) {
  return reinterpret_cast<u64>(&queue);
}

}  // namespace

void WaitQueue::enlist(Waiter& waiter, bool interruptible) {
  KERNEL_ASSERT(waiter.place_.load(Order::relaxed) == 0);
  waiter.interruptible_ = interruptible;
  waiters_.push_back(waiter);
  waiter.place_.store(place_of(*this), Order::release);
}

Errno WaitQueue::wait(Waiter& waiter, Instant deadline) {
  lock_.assert_held();
  if (waiter.interrupted()) return Errno::restart;
  enlist(waiter, true);
  if (deadline != never) waiter.set_timeout(deadline);
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
  u64 place = waiter->place_.load(Order::relaxed);
  for (;;) {
    if (place == place_of(*this)) {
      if (waiter->place_.compare_exchange(place, 0, Order::acq_rel, Order::relaxed)) return waiter;
    } else {
      KERNEL_ASSERT(place == (place_of(*this) | pinned));
      if (waiter->place_.compare_exchange(place, taken, Order::acq_rel, Order::relaxed)) break;
    }
  }
  while (waiter->place_.load(Order::acquire) == taken) arch::pause();
  return waiter;
}

void WaitQueue::strike_out(Waiter& waiter) {
  if (waiter.place_.load(Order::relaxed) != place_of(*this)) return;  // pinned it cannot be: that would be this core
  waiters_.remove(waiter);
  waiter.place_.store(0, Order::release);
}

bool WaitQueue::wake_one() {
  lock_.assert_held();
  Waiter* waiter = dequeue();
  if (waiter == nullptr) return false;
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
    u64 place = waiter.place_.load(Order::acquire);
    if (place == 0) return false;
    if (only_interruptible && !waiter.interruptible_) return false;
    if (!waiter.place_.compare_exchange(place, place | pinned, Order::acquire, Order::relaxed)) continue;
    WaitQueue& queue = *reinterpret_cast<WaitQueue*>(place);
    if (queue.lock_.try_lock()) {  // now nobody else can take it off
      queue.waiters_.remove(waiter);
      waiter.place_.store(0, Order::release);
      queue.lock_.unlock();
      return true;
    }
    u64 mine = place | pinned;
    if (!waiter.place_.compare_exchange(mine, place, Order::release, Order::relaxed)) {
      waiter.place_.store(0, Order::release);  // taken: the queue is no longer touched here
      return false;
    }
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
