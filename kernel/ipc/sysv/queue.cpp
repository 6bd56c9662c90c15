// See queue.h.
#include "ipc/sysv/queue.h"

#include "fs/types.h"
#include "task/process.h"
#include "task/thread.h"

namespace corral::ipc {

namespace {

constinit IdTable<Queue> all_queues{QueueLimits::queues, "message queues"};
constinit Atomic<u64> messages_in_all{0}, bytes_in_all{0};

i64 now_s() {
  return fs::wall_time_ns() / 1'000'000'000;
}

void count(const QueueMessage& message, bool more) {
  if (more) {
    messages_in_all.fetch_add(1, Order::relaxed);
    bytes_in_all.fetch_add(message.size, Order::relaxed);
  } else {
    messages_in_all.fetch_sub(1, Order::relaxed);
    bytes_in_all.fetch_sub(message.size, Order::relaxed);
  }
}

// Linux's ERESTARTNOHAND.
Errno without_handler(Errno outcome) {
  return outcome == Errno::restart ? Errno::restart_without_handler : outcome;
}

}  // namespace

Result<Ref<Queue>> Queue::create() {
  auto* made = new (std::nothrow) Queue;
  if (made == nullptr) return Errno::enomem;
  {
    LockGuard guard{made->lock_};
    made->state_.most_bytes = QueueLimits::bytes.value();
    made->state_.changed_s = now_s();
  }
  return Ref<Queue>::adopt(made);
}

Queue::~Queue() {
  LockGuard guard{lock_};
  while (QueueMessage* message = messages_.pop_front()) {
    count(*message, false);
    memory::release(message);
  }
}

Result<void> Queue::send(Thread& thread, QueueMessage& message, u32 flags) {
  LockGuard guard{lock_};
  if (removed_) return Errno::eidrm;
  if (message.size + state_.bytes > state_.most_bytes || state_.messages + 1 > state_.most_bytes) {
    if ((flags & flag_no_wait) != 0) return Errno::eagain;
    return without_handler(senders_.wait(thread));
  }
  messages_.push_back(message);
  count(message, true);
  state_.bytes += message.size;
  ++state_.messages;
  state_.last_sender = thread.process().id().value;
  state_.sent_s = now_s();
  (void)receivers_.wake_all();
  return {};
}

QueueMessage* Queue::find(i64 type, u32 flags) {
  QueueMessage* found = nullptr;
  const i64 highest = type == INT64_MIN ? INT64_MAX : -type;
  for (QueueMessage* m = messages_.front(); m != nullptr; m = messages_.next(*m)) {
    if (type == 0) return m;
    if (type > 0 && (m->type == type) != ((flags & message_except) != 0)) return m;
    if (type < 0 && m->type <= highest && (found == nullptr || m->type < found->type)) found = m;
  }
  return found;
}

QueueMessage* Queue::at(i64 place) {
  QueueMessage* message = messages_.front();
  for (i64 before = 0; message != nullptr && before != place; ++before) message = messages_.next(*message);
  return message;
}

Result<u64> Queue::receive(Thread& thread, VirtualAddress to, u64 size, i64 type, u32 flags) {
  LockGuard guard{lock_};
  if (removed_) return Errno::eidrm;
  const bool copies = (flags & message_copy) != 0;
  QueueMessage* message = copies ? at(type) : find(type, flags);
  if (message == nullptr) {
    if ((flags & flag_no_wait) != 0) return Errno::enomsg;
    return without_handler(receivers_.wait(thread));
  }
  if (message->size > size && (flags & message_truncated) == 0) return Errno::e2big;
  const u64 given = fs::smaller(message->size, size);
  TRY(vm::write_user(*thread.space, thread.caller, to, message->type));
  TRY(vm::copy_out(*thread.space, thread.caller, to + sizeof(i64), message->text, given));
  if (copies) return given;
  messages_.remove(*message);
  count(*message, false);
  state_.bytes -= message->size;
  --state_.messages;
  state_.last_receiver = thread.process().id().value;
  state_.received_s = now_s();
  memory::release(message);
  (void)senders_.wake_all();
  return given;
}

void Queue::remove() {
  LockGuard guard{lock_};
  removed_ = true;
  (void)senders_.wake_all();
  (void)receivers_.wake_all();
}

QueueState Queue::state() {
  LockGuard guard{lock_};
  return state_;
}

void Queue::set_most_bytes(u64 bytes) {
  LockGuard guard{lock_};
  state_.most_bytes = bytes;
  state_.changed_s = now_s();
  (void)senders_.wake_all();
  (void)receivers_.wake_all();
}

namespace queues {
IdTable<Queue>& table() {
  return all_queues;
}
Totals totals() {
  return {messages_in_all.load(Order::relaxed), bytes_in_all.load(Order::relaxed)};
}
}  // namespace queues

}  // namespace corral::ipc
