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

Errno MessageQueue::wait(WaitQueue& queue, Thread& thread, bool nonblocking, Deadline deadline) {
  if (nonblocking) return Errno::eagain;
  if (thread.wake_reason() == WakeReason::timed_out || clock::instant_of(deadline) <= clock::now()) return Errno::etimedout;
  return queue.wait(thread, deadline);
}

// Behind all of its priority.
void MessageQueue::insert(PosixMessage& message) {
  for (PosixMessage* m = messages_.front(); m != nullptr; m = messages_.next(*m)) {
    if (m->priority >= message.priority) continue;
    messages_.insert_before(*m, message);
    return;
  }
  messages_.push_back(message);
}

Result<void> MessageQueue::send(Thread& thread, PosixMessage& message, bool nonblocking, Deadline deadline) {
  Notification told;
  {
    LockGuard guard{lock_};
    if (count_ == most_) return wait(senders_, thread, nonblocking, deadline);
    const bool first = count_ == 0 && receivers_.empty();
    insert(message);
    ++count_;
    bytes_ += message.size;
    if (first) told = std::exchange(notification_, {});
    (void)receivers_.wake_all();
    source_.notify(fs::poll_readable);
  }
  if (told.process == 0 || told.signal == 0) return {};
  constexpr i32 code_message = -3;  // SI_MESGQ
  if (Ref<Process> process = processes::find(ProcessId{told.process})) {
    const i32 sender = thread.process().id().value;
    (void)signals::send(*process, {.number = told.signal, .code = code_message, .sender = sender, .value = told.value});
  }
  return {};
}

Result<u64> MessageQueue::receive(Thread& thread, VirtualAddress to, VirtualAddress priority_to, bool nonblocking,
                                  Deadline deadline) {
  LockGuard guard{lock_};
  PosixMessage* message = messages_.front();
  if (message == nullptr) return wait(receivers_, thread, nonblocking, deadline);
  TRY(vm::copy_out(*thread.space, thread.caller, to, message->text, message->size));
  if (priority_to.value != 0) TRY(vm::write_user(*thread.space, thread.caller, priority_to, message->priority));
  messages_.remove(*message);
  const u64 size = message->size;
  --count_;
  bytes_ -= size;
  memory::release(message);
  (void)senders_.wake_all();
  source_.notify(fs::poll_writable);
  return size;
}

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
  Ref<fs::RamFileSystem> made = TRY(fs::RamFileSystem::create("mqueue", 0, for_everyone));
  made->hold_own_files_only();
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
