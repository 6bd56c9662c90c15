// POSIX message queues: messages with a priority, the highest first. Source: POSIX.1-2017 mq_open(), mq_send(), mq_receive(),
// mq_notify(); Linux man-pages mq_overview(7).
//
// A queue is a file of the file system at /dev/mqueue; open files lead to it, and so it lives as long as its name or one of
// them. Everything is guarded by its lock. A message is taken only when its receiver's memory has it. All who wait look again
// when something has changed. A process is told of the next message that comes into the empty queue while nobody waits.
#pragma once

#include "fs/poll_source.h"
#include "fs/ram/ram_node.h"
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
  i32 signal = 0;   // 0: nothing is sent, it only counts as told
  u64 value = 0;
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
  // Takes the message over when it succeeds. eagain, etimedout; blocked, restart.
  Result<void> send(Thread& thread, PosixMessage& message, bool nonblocking, Deadline deadline) EXCLUDES(lock_);
  // Answers the size of the text, which is in the program's memory at `to`. eagain, etimedout, efault; blocked, restart.
  Result<u64> receive(Thread& thread, VirtualAddress to, VirtualAddress priority_to, bool nonblocking, Deadline deadline)
      EXCLUDES(lock_);
  Result<void> notify(const Notification& wanted) EXCLUDES(lock_);  // ebusy: another wants it
  void forget_notification(i32 process) EXCLUDES(lock_);
  u32 poll(fs::PollEntry* entry) EXCLUDES(lock_);
  std::string_view describe(std::span<char> to) EXCLUDES(lock_);

  static constexpr u64 text_size = 80;  // what fstat says

 private:
  MessageQueue(fs::RamFileSystem& files, u32 permissions, u64 most, u64 bytes, u64 charged)
      : RamNode{files, fs::FileType::regular, permissions}, most_{most}, most_bytes_{bytes}, charged_{charged} {}
  Errno wait(WaitQueue& queue, Thread& thread, bool nonblocking, Deadline deadline) REQUIRES(lock_);
  void insert(PosixMessage& message) REQUIRES(lock_);

  const u64 most_, most_bytes_, charged_;
  SpinLock lock_{Rank::ipc_object, "message queue"};
  WaitQueue senders_{lock_}, receivers_{lock_};
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
