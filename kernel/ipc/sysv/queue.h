// System V message queues: messages with a type, taken in order or by type. Source: POSIX.1-2017 msgsnd(), msgrcv(); Linux
// man-pages msgop(2), msgctl(2).
//
// Everything is guarded by the queue's lock. A message is taken only when its receiver's memory has it. Who sends hands its message
// to the receiver that waits longest of those who want it (ipc/message_wait.h); who waits for room looks again when there is more.
#pragma once

#include "ipc/message_wait.h"
#include "ipc/sysv/ids.h"
#include "lib/intrusive_list.h"
#include "lib/ref.h"
#include "sync/waiter.h"

namespace corral::ipc {

struct QueueLimits {  // as Linux's
  static inline constinit Setting queues{32000, 0, 32768}, message{8192, 0, 0x7fff'ffff}, bytes{16384, 0, 0x7fff'ffff};
};

struct QueueMessage {
  ListLink link;
  i64 type;
  u64 size;
  u8 text[];
};

inline constexpr u32 message_truncated = 010000, message_except = 020000, message_copy = 040000;

// What a receiver takes: as msgrcv says it.
struct Selection {
  u64 size = 0;
  i64 type = 0;  // with message_copy the message's place in the queue, where it stays
  u32 flags = 0;
  i32 process = 0;

  [[nodiscard]] bool takes(const QueueMessage& message) const;
  [[nodiscard]] bool has_room_for(const QueueMessage& message) const {
    return message.size <= size || (flags & message_truncated) != 0;
  }
};

struct QueueState {
  u64 bytes = 0, messages = 0, most_bytes = 0;
  i32 last_sender = 0, last_receiver = 0;
  i64 sent_s = 0, received_s = 0, changed_s = 0;
};

class Queue final : public RefCounted<Queue> {
 public:
  static Result<Ref<Queue>> create();  // enomem
  ~Queue();

  // Takes the message over when it succeeds. eagain, eidrm; blocked, restart_without_handler.
  Result<void> send(Thread& thread, QueueMessage& message, u32 flags) EXCLUDES(lock_);
  // Writes type and text to the program's memory at `to`. Answers the text's size. e2big, enomsg, enomem, efault, eidrm; blocked, …
  Result<u64> receive(Thread& thread, VirtualAddress to, const Selection& wanted) EXCLUDES(lock_);
  // The same for a step that has waited (it keeps something): it wants what it wanted in its first run.
  static Result<u64> go_on_receiving(Thread& thread, VirtualAddress to);
  void remove() EXCLUDES(lock_);
  [[nodiscard]] QueueState state() EXCLUDES(lock_);
  void set_most_bytes(u64 bytes) EXCLUDES(lock_);

  i32 number = 0;  // guarded by the table's lock, as the next
  Ownership ownership;

 private:
  using Wait = MessageWait<Queue, QueueMessage, Selection>;
  friend Wait;

  Queue() = default;
  Result<u64> receive_locked(Thread& thread, VirtualAddress to, const Selection& wanted) REQUIRES(lock_);
  QueueMessage* find(const Selection& wanted) REQUIRES(lock_);
  QueueMessage* at(i64 place) REQUIRES(lock_);  // counted from 0
  // To the first receiver that wants it, if there is one; receivers that want it and have no room are told.
  bool hand_over(QueueMessage& message) REQUIRES(lock_);
  void put_in(QueueMessage& message, bool first) REQUIRES(lock_);
  void give_back(Wait& wait) REQUIRES(lock_);
  void note_receiver(i32 process) REQUIRES(lock_);

  SpinLock lock_{Rank::ipc_object, "message queue"};
  WaitQueue senders_{lock_};
  Wait::List receivers_ GUARDED_BY(lock_);  // the longest waiting one first
  IntrusiveList<QueueMessage, &QueueMessage::link> messages_ GUARDED_BY(lock_);
  QueueState state_ GUARDED_BY(lock_);
  bool removed_ GUARDED_BY(lock_) = false;
};

namespace queues {
[[nodiscard]] IdTable<Queue>& table();
struct Totals {
  u64 messages, bytes;
};
[[nodiscard]] Totals totals();
}  // namespace queues

}  // namespace corral::ipc
