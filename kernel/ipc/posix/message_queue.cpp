// See message_queue.h.
#include "ipc/posix/message_queue.h"

#include "device/clock.h"
#include "fs/ram/ram_directory.h"
#include "fs/step_memory.h"
#include "fs/transfer.h"
#include "lib/format.h"
#include "memory/heap.h"
#include "task/process.h"
#include "task/thread.h"

namespace corral::ipc {

namespace {

constinit fs::RamFileSystem* queue_files = nullptr;  // lives for ever
constinit Atomic<u64> bytes_in_all{0};

class QueueFile final : public fs::OpenFile {
 public:
  QueueFile(Ref<fs::Inode> inode, u32 flags) : OpenFile{static_cast<Ref<fs::Inode>&&>(inode), flags} {}
  Result<u64> read(Thread&, fs::Transfer& transfer) override {
    const u64 from = position_.load(Order::relaxed);
    const u64 size = TRY(put_text(from, transfer));
    position_.store(from + size, Order::relaxed);
    return size;
  }
  Result<u64> read_at(Thread&, u64 offset, fs::Transfer& transfer) override { return put_text(offset, transfer); }
  u32 poll(fs::PollEntry* entry) override { return queue().poll(entry); }
  [[nodiscard]] bool can_poll() const override { return true; }
  void descriptor_closed(const fs::FileTable&) override {
    queue().forget_notification(fs::stepping_thread().process().id().value);
  }
  [[nodiscard]] MessageQueue& queue() { return static_cast<MessageQueue&>(inode()); }

 private:
  Result<u64> put_text(u64 from, fs::Transfer& transfer) {
    char text[MessageQueue::text_size];
    const std::string_view all = queue().describe(text);
    if (from >= all.size()) return u64{0};
    const u64 size = fs::smaller(all.size() - from, transfer.left());
    TRY(transfer.put(0, all.data() + from, size));
    transfer.advance(size);
    return size;
  }
  Atomic<u64> position_{0};
};

// What Linux counts for a queue: its tree of priorities and its messages.
u64 memory_for(u64 most, u64 bytes) {
  constexpr u64 for_message = 48, for_priority = 48;
  return most * for_message + fs::smaller(most, MessageQueueLimits::priorities) * for_priority + most * bytes;
}

// efault; blocked.
Result<u64> write_to(Thread& thread, const Destination& to, const PosixMessage& message) {
  TRY(vm::copy_out(*thread.space, thread.caller, to.text, message.text, message.size));
  if (to.priority.value != 0) TRY(vm::write_user(*thread.space, thread.caller, to.priority, message.priority));
  return message.size;
}

void tell(const Notification& told, Thread& sender) {
  if (told.process == 0 || told.signal == 0) return;
  constexpr i32 code_message = -3;  // SI_MESGQ
  if (Ref<Process> process = processes::find(ProcessId{told.process})) {
    const i32 from = sender.process().id().value;
    (void)signals::send(*process, {.number = told.signal, .code = code_message, .sender = from, .value = told.value});
  }
}

}  // namespace

Result<Ref<MessageQueue>> MessageQueue::create(fs::RamFileSystem& files, u32 permissions, u64 most, u64 bytes, u64 limit) {
  const u64 charged = memory_for(most, bytes);
  if (bytes_in_all.fetch_add(charged, Order::relaxed) + charged > limit) {
    bytes_in_all.fetch_sub(charged, Order::relaxed);
    return Errno::emfile;
  }
  auto* made = new (std::nothrow) MessageQueue(files, permissions, most, bytes, charged);
  if (made == nullptr) {
    bytes_in_all.fetch_sub(charged, Order::relaxed);
    return Errno::enomem;
  }
  return Ref<MessageQueue>::adopt(made);
}

MessageQueue::~MessageQueue() {
  LockGuard guard{lock_};
  while (PosixMessage* message = messages_.pop_front()) memory::release(message);
  bytes_in_all.fetch_sub(charged_, Order::relaxed);
}

Result<Ref<fs::OpenFile>> MessageQueue::open(const fs::OpenRequest& request) {
  return Ref<fs::OpenFile>{Ref<QueueFile>::adopt(TRY(memory::make<QueueFile>(Ref<fs::Inode>::share(*this), request.flags)))};
}

u64 MessageQueue::count() {
  LockGuard guard{lock_};
  return count_;
}

// ---- waiting -----------------------------------------------------------------------------------------------------------------

Errno MessageQueue::wait(Thread& thread, PosixMessage* brought, Deadline deadline) {
  if (thread.wake_reason() == WakeReason::timed_out || clock::instant_of(deadline) <= clock::now()) return Errno::etimedout;
  Wait* wait = Wait::make(thread, *this, {.sends = brought != nullptr, .priority = thread.effective_priority()}, brought);
  if (wait == nullptr) return Errno::enomem;
  Wait::List& list = wait->wanted.sends ? senders_ : receivers_;
  Wait* before = list.front();
  while (before != nullptr && before->wanted.priority >= wait->wanted.priority) before = list.next(*before);
  return wait->wait(thread, list, before, deadline);
}

void MessageQueue::give_back(Wait& wait) {
  PosixMessage& message = *std::exchange(wait.message, nullptr);
  if (wait.wanted.sends) {
    memory::release(&message);  // it was never in the queue
  } else if (!hand_over(message)) {
    insert(message, true);
  }
}

bool MessageQueue::hand_over(PosixMessage& message) {
  Wait* receiver = receivers_.front();
  if (receiver == nullptr) return false;
  receiver->message = &message;
  receiver->end(Errno{});
  return true;
}

void MessageQueue::take_in() {
  Wait* sender = senders_.front();
  if (sender == nullptr || count_ >= most_) return;
  insert(*std::exchange(sender->message, nullptr), false);
  sender->end(Errno{});
}

void MessageQueue::insert(PosixMessage& message, bool again) {
  PosixMessage* m = messages_.front();
  while (m != nullptr && (again ? m->priority > message.priority : m->priority >= message.priority)) m = messages_.next(*m);
  if (m != nullptr) {
    messages_.insert_before(*m, message);
  } else {
    messages_.push_back(message);
  }
  ++count_;
  bytes_ += message.size;
  source_.notify(fs::poll_readable);
}

// ---- sending and receiving ---------------------------------------------------------------------------------------------------

Result<void> MessageQueue::send(Thread& thread, PosixMessage& message, bool nonblocking, Deadline deadline) {
  Notification told;
  {
    LockGuard guard{lock_};
    told = TRY(send_locked(thread, message, nonblocking, deadline));
  }
  tell(told, thread);
  return {};
}

Result<void> MessageQueue::go_on_sending(Thread& thread, Deadline deadline) {
  Wait& wait = *Wait::of(thread);
  MessageQueue& queue = *wait.queue();
  Notification told;
  {
    LockGuard guard{queue.lock_};
    if (wait.message == nullptr) return {};
    told = TRY(queue.send_locked(thread, *wait.message, false, deadline));
    wait.message = nullptr;
  }
  tell(told, thread);
  return {};
}

Result<Notification> MessageQueue::send_locked(Thread& thread, PosixMessage& message, bool nonblocking, Deadline deadline) {
  if (count_ >= most_) return nonblocking ? Errno::eagain : wait(thread, &message, deadline);
  if (hand_over(message)) return Notification{};
  const bool first = count_ == 0;
  insert(message, false);
  return first ? std::exchange(notification_, {}) : Notification{};
}

Result<u64> MessageQueue::receive(Thread& thread, const Destination& to, bool nonblocking, Deadline deadline) {
  LockGuard guard{lock_};
  return receive_locked(thread, to, nonblocking, deadline);
}

Result<u64> MessageQueue::go_on_receiving(Thread& thread, const Destination& to, Deadline deadline) {
  Wait& wait = *Wait::of(thread);
  MessageQueue& queue = *wait.queue();
  LockGuard guard{queue.lock_};
  if (wait.message == nullptr) return queue.receive_locked(thread, to, false, deadline);
  const u64 size = TRY(write_to(thread, to, *wait.message));
  memory::release(std::exchange(wait.message, nullptr));
  return size;
}

Result<u64> MessageQueue::receive_locked(Thread& thread, const Destination& to, bool nonblocking, Deadline deadline) {
  PosixMessage* message = messages_.front();
  if (message == nullptr) return nonblocking ? Errno::eagain : wait(thread, nullptr, deadline);
  const u64 size = TRY(write_to(thread, to, *message));
  messages_.remove(*message);
  --count_;
  bytes_ -= size;
  memory::release(message);
  take_in();
  if (count_ < most_) source_.notify(fs::poll_writable);
  return size;
}

// ---- telling -----------------------------------------------------------------------------------------------------------------

Result<void> MessageQueue::notify(const Notification& wanted) {
  LockGuard guard{lock_};
  if (notification_.process != 0) return Errno::ebusy;
  notification_ = wanted;
  return {};
}

void MessageQueue::forget_notification(i32 process) {
  LockGuard guard{lock_};
  if (notification_.process == process) notification_ = {};
}

u32 MessageQueue::poll(fs::PollEntry* entry) {
  LockGuard guard{lock_};
  if (entry != nullptr) source_.enlist(*entry);
  return (count_ > 0 ? fs::poll_readable : 0) | (count_ < most_ ? fs::poll_writable : 0);
}

std::string_view MessageQueue::describe(std::span<char> to) {
  LockGuard guard{lock_};
  return format_to(to, "QSIZE:{-10} NOTIFY:{-5} SIGNO:{-5} NOTIFY_PID:{-6}\n", bytes_, 0,
                   notification_.process != 0 ? notification_.signal : 0, notification_.process);
}

namespace message_queues {

namespace {

fs::RamDirectory& directory() {
  return static_cast<fs::RamDirectory&>(*queue_files->root());
}

Result<void> check_name(std::string_view name) {
  if (name.empty()) return Errno::enoent;
  if (name == "." || name == ".." || name.find('/') != std::string_view::npos) return Errno::eacces;
  if (name.size() > fs::name_max) return Errno::enametoolong;
  return {};
}

}  // namespace

Result<Ref<fs::FileSystem>> initialise() {
  constexpr u32 for_everyone = 01777;
  constexpr u64 mqueue_magic = 0x19800202;
  Ref<fs::RamFileSystem> made = TRY(fs::RamFileSystem::create("mqueue", 0, for_everyone));
  made->hold_own_files_only();
  made->stand_for(mqueue_magic);
  queue_files = Ref<fs::RamFileSystem>{made}.release();
  return Ref<fs::FileSystem>{made};
}

fs::RamFileSystem& files() {
  return *queue_files;
}

MessageQueue* of(fs::OpenFile& file) {
  // All regular files there are queues.
  const bool queue = &file.inode().file_system() == queue_files && file.inode().type() == fs::FileType::regular;
  return queue && (file.flags() & fs::o_path) == 0 ? &static_cast<MessageQueue&>(file.inode()) : nullptr;
}

Result<Ref<MessageQueue>> find(std::string_view name) {
  TRY(check_name(name));
  Ref<fs::Inode> found = TRY(directory().lookup(name));
  return Ref<MessageQueue>::adopt(static_cast<MessageQueue*>(found.release()));
}

Result<void> add(std::string_view name, const Ref<MessageQueue>& queue) {
  return directory().add(name, Ref<fs::RamNode>{queue});
}

Result<void> unlink(std::string_view name) {
  TRY(check_name(name));
  return directory().unlink(name);
}

}  // namespace message_queues

}  // namespace corral::ipc
