// A thread that waits at a queue of messages, as long as its step lasts: a receiver for a message, a sender for room.
//
// Who makes possible what a thread waits for does it at once, under the queue's lock, and then wakes the thread: a sender hands
// its message over to a waiting receiver, a receiver takes in the message of a waiting sender. So a thread that sends and then
// receives does not take the message that another one waits for.
//
// A message has one owner: its queue, or the wait that it was handed to or came with. A wait that ends with a message gives it
// back to its queue (give_back): its thread was ended, or had no memory for it.
#pragma once

#include "lib/intrusive_list.h"
#include "lib/ref.h"
#include "memory/heap.h"
#include "sync/waiter.h"
#include "task/thread.h"

namespace corral::ipc {

// `Queue` has the lock lock_ and give_back(MessageWait&); `Wanted` is what only the queue understands.
template <class Queue, class Message, class Wanted>
class MessageWait final : public StepKept {
 public:
  ListLink link;  // in one of the queue's lists; guarded by its lock, as all that follows
  using List = IntrusiveList<MessageWait, &MessageWait::link>;

  MessageWait(Queue& queue, Wanted what, Message* brought)
      : wanted{what}, message{brought}, queue_{Ref<Queue>::share(queue)}, woken_{queue.lock_} {}
  ~MessageWait() override {
    LockGuard guard{queue_->lock_};
    if (link.linked()) List::remove(*this);
    if (message != nullptr) queue_->give_back(*this);
  }
  // Whatever woke the thread: nobody is to do anything for it any more.
  void begin_run() override {
    LockGuard guard{queue_->lock_};
    if (link.linked()) List::remove(*this);
  }

  // What the thread's step has left from an earlier run; null: this is its first run.
  [[nodiscard]] static MessageWait* of(Thread& thread) { return static_cast<MessageWait*>(thread.step.kept.get()); }
  // The same, made if there is none: `brought` is its message then. Null: no memory.
  [[nodiscard]] static MessageWait* make(Thread& thread, Queue& queue, Wanted what, Message* brought) {
    if (!thread.step.kept) {
      auto* made = new (std::nothrow) MessageWait{queue, what, brought};
      if (made == nullptr) return nullptr;
      thread.step.kept = Ref<StepKept>::adopt(made);
    }
    return of(thread);
  }
  // The step answers what this answers. `before`: the one to stand before; null: behind all.
  [[nodiscard]] Errno wait(Thread& thread, List& list, MessageWait* before, Deadline deadline) {
    const Errno waiting = woken_.wait(thread, deadline);
    if (waiting != Errno::blocked) return waiting;
    if (before != nullptr) {
      list.insert_before(*before, *this);
    } else {
      list.push_back(*this);
    }
    return Errno::blocked;
  }
  void end(Errno what) {
    List::remove(*this);
    outcome = what;
    (void)woken_.wake_all();
  }
  [[nodiscard]] const Ref<Queue>& queue() const { return queue_; }  // always the same

  const Wanted wanted;
  Message* message;
  Errno outcome = Errno::blocked;  // until somebody has done it, or refused it

 private:
  const Ref<Queue> queue_;
  WaitQueue woken_;
};

}  // namespace corral::ipc
