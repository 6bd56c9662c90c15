// POSIX message queues: messages with a priority, the highest first. Source: POSIX.1-2017 mq_open(), mq_send(), mq_receive(),
// mq_notify(); Linux man-pages mq_overview(7).
//
// A queue is a file of the file system at /dev/mqueue; open files lead to it, and so it lives as long as its name or one of
// them. Everything is guarded by its lock. A message is taken only when its receiver's memory has it. Who sends hands its message to
// a waiting receiver, who receives takes in that of a waiting sender (ipc/message_wait.h): the one with the highest real-time
// priority, among equals the one that waits longest. A process is told of the next message that comes into the empty queue while
// nobody waits.
#pragma once

#include "fs/poll_source.h"
#include "fs/ram/ram_node.h"
#include "ipc/message_wait.h"
#include "lib/setting.h"
#include "sync/waiter.h"
#include "task/signal_information.h"

namespace corral::ipc {

struct MessageQueueLimits {  // as Linux's; the rest is bounded by the process's limit on bytes in queues
  static constexpr u64 messages = 65536, message_bytes = 16 << 20;  // for who may exceed the limits of users
  static inline constinit Setting default_messages{10, 1, messages}, user_messages{10, 1, messages};
  static inline constinit Setting default_bytes{8192, 128, message_bytes}, user_bytes{8192, 128, message_bytes};
  static constexpr u32 priorities = 32768;
};

struct PosixMessage {
  ListLink link;
  u32 priority;
  u64 size;
  u8 text[];
};

// Whom to tell, and how.
struct Notification {
  i32 process = 0;  // 0: nobody
  i32 signal = 0;  // 0: nothing is sent, it only counts as told
  u64 value = 0;
};

// Where a received message goes to in the program's memory.
struct Destination {
  VirtualAddress text, priority;  // priority 0: it is not wanted
};

class MessageQueue final : public fs::RamNode {
 public:
  // `most` messages of at most `bytes` each. The memory is charged to all queues against `limit` (bytes in all). emfile, enomem.
  static Result<Ref<MessageQueue>> create(fs::RamFileSystem& files, u32 permissions, u64 most, u64 bytes, u64 limit);
  ~MessageQueue() override;
  Result<Ref<fs::OpenFile>> open(const fs::OpenRequest& request) override;  // enomem
  [[nodiscard]] u64 size_now() override { return text_size; }

  [[nodiscard]] u64 most() const { return most_; }
  [[nodiscard]] u64 most_bytes() const { return most_bytes_; }
  [[nodiscard]] u64 count() EXCLUDES(lock_);
  // Takes the message over when it succeeds, and when the step keeps something afterwards. eagain, etimedout, enomem; blocked,
  // restart.
  Result<void> send(Thread& thread, PosixMessage& message, bool nonblocking, Deadline deadline) EXCLUDES(lock_);
  // Answers the size of the text, which is in the program's memory at `to`. eagain, etimedout, enomem, efault; blocked, restart.
  Result<u64> receive(Thread& thread, const Destination& to, bool nonblocking, Deadline deadline) EXCLUDES(lock_);
  // The same for steps that have waited (they keep something).
  static Result<void> go_on_sending(Thread& thread, Deadline deadline);
  static Result<u64> go_on_receiving(Thread& thread, const Destination& to, Deadline deadline);
  Result<void> notify(const Notification& wanted) EXCLUDES(lock_);  // ebusy: another wants it
  void forget_notification(i32 process) EXCLUDES(lock_);
  u32 poll(fs::PollEntry* entry) EXCLUDES(lock_);
  std::string_view describe(std::span<char> to) EXCLUDES(lock_);

  static constexpr u64 text_size = 80;  // what fstat says

 private:
  MessageQueue(fs::RamFileSystem& files, u32 permissions, u64 most, u64 bytes, u64 charged)
      : RamNode{files, fs::FileType::regular, permissions}, most_{most}, most_bytes_{bytes}, charged_{charged} {}
  struct Side {
    bool sends;
    u32 priority;  // real-time, of the thread
  };
  using Wait = MessageWait<MessageQueue, PosixMessage, Side>;
  friend Wait;
  // Whom to tell.
  Result<Notification> send_locked(Thread& thread, PosixMessage& message, bool nonblocking, Deadline deadline) REQUIRES(lock_);
  Result<u64> receive_locked(Thread& thread, const Destination& to, bool nonblocking, Deadline deadline) REQUIRES(lock_);
  // `brought`: a sender's message; null: the thread receives.
  Errno wait(Thread& thread, PosixMessage* brought, Deadline deadline) REQUIRES(lock_);
  void give_back(Wait& wait) REQUIRES(lock_);
  // False: no receiver waits.
  bool hand_over(PosixMessage& message) REQUIRES(lock_);
  // There may be room again: for a sender that waits.
  void take_in() REQUIRES(lock_);
  // Behind all of its priority; `again`: before them.
  void insert(PosixMessage& message, bool again) REQUIRES(lock_);

  const u64 most_, most_bytes_, charged_;
  SpinLock lock_{Rank::ipc_object, "message queue"};
  Wait::List senders_ GUARDED_BY(lock_), receivers_ GUARDED_BY(lock_);  // the next to be served first
  fs::PollSource source_{lock_};
  IntrusiveList<PosixMessage, &PosixMessage::link> messages_ GUARDED_BY(lock_);  // the next to be given first
  u64 count_ GUARDED_BY(lock_) = 0, bytes_ GUARDED_BY(lock_) = 0;
  Notification notification_ GUARDED_BY(lock_);
};

namespace message_queues {
// Boot context: the file system of queues, not mounted yet. enomem.
Result<Ref<fs::FileSystem>> initialise();
// The queue behind an open file, or null.
[[nodiscard]] MessageQueue* of(fs::OpenFile& file);
// An open file for the queue of this name; `make` (Result<Ref<MessageQueue>>) when there is none and flags allow it.
// enoent, eexist, eacces: no such name can be; enametoolong.
Result<Ref<MessageQueue>> find(std::string_view name);
Result<void> add(std::string_view name, const Ref<MessageQueue>& queue);  // eexist, enomem
Result<void> unlink(std::string_view name);
[[nodiscard]] fs::RamFileSystem& files();
}  // namespace message_queues

}  // namespace corral::ipc
