// See queue.h.
#include "ipc/sysv/queue.h"

#include <utility>

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
  state_.last_sender = thread.process().id().value;
  state_.sent_s = now_s();
  if (!hand_over(message)) put_in(message, false);
  return {};
}

void Queue::put_in(QueueMessage& message, bool first) {
  if (first) {
    messages_.push_front(message);
  } else {
    messages_.push_back(message);
  }
  count(message, true);
  state_.bytes += message.size;
  ++state_.messages;
}

bool Queue::hand_over(QueueMessage& message) {
  for (Wait* wait = receivers_.front(); wait != nullptr;) {
    Wait& receiver = *wait;
    wait = receivers_.next(receiver);
    if (!receiver.wanted.takes(message)) continue;
    if (!receiver.wanted.has_room_for(message)) {
      receiver.end(Errno::e2big);
      continue;
    }
    receiver.message = &message;
    note_receiver(receiver.wanted.process);
    receiver.end(Errno{});
    return true;
  }
  return false;
}

void Queue::give_back(Wait& wait) {
  QueueMessage& message = *std::exchange(wait.message, nullptr);
  if (!hand_over(message)) put_in(message, true);
}

void Queue::note_receiver(i32 process) {
  state_.last_receiver = process;
  state_.received_s = now_s();
}

bool Selection::takes(const QueueMessage& message) const {
  if (type == 0) return true;
  if (type > 0) return (message.type == type) != ((flags & message_except) != 0);
  return message.type <= (type == INT64_MIN ? INT64_MAX : -type);
}

QueueMessage* Queue::find(const Selection& wanted) {
  QueueMessage* found = nullptr;
  for (QueueMessage* m = messages_.front(); m != nullptr; m = messages_.next(*m)) {
    if (!wanted.takes(*m)) continue;
    if (wanted.type >= 0) return m;
    if (found == nullptr || m->type < found->type) found = m;  // the lowest type
  }
  return found;
}

QueueMessage* Queue::at(i64 place) {
  QueueMessage* message = messages_.front();
  for (i64 before = 0; message != nullptr && before != place; ++before) message = messages_.next(*message);
  return message;
}

namespace {

// efault; blocked.
Result<u64> write_to(Thread& thread, VirtualAddress to, const QueueMessage& message, u64 size) {
  const u64 given = fs::smaller(message.size, size);
  TRY(vm::write_user(*thread.space, thread.caller, to, message.type));
  TRY(vm::copy_out(*thread.space, thread.caller, to + sizeof(i64), message.text, given));
  return given;
}

}  // namespace

Result<u64> Queue::receive(Thread& thread, VirtualAddress to, const Selection& wanted) {
  LockGuard guard{lock_};
  return receive_locked(thread, to, wanted);
}

Result<u64> Queue::go_on_receiving(Thread& thread, VirtualAddress to) {
  Wait& wait = *Wait::of(thread);
  Queue& queue = *wait.queue();
  LockGuard guard{queue.lock_};
  if (wait.message != nullptr) {
    const u64 given = TRY(write_to(thread, to, *wait.message, wait.wanted.size));
    memory::release(std::exchange(wait.message, nullptr));
    return given;
  }
  if (wait.outcome != Errno::blocked) return wait.outcome;
  return queue.receive_locked(thread, to, wait.wanted);
}

Result<u64> Queue::receive_locked(Thread& thread, VirtualAddress to, const Selection& wanted) {
  if (removed_) return Errno::eidrm;
  const bool copies = (wanted.flags & message_copy) != 0;
  QueueMessage* message = copies ? at(wanted.type) : find(wanted);
  if (message == nullptr) {
    if ((wanted.flags & flag_no_wait) != 0) return Errno::enomsg;
    Wait* wait = Wait::make(thread, *this, wanted, nullptr);
    return wait != nullptr ? without_handler(wait->wait(thread, receivers_, nullptr, never)) : Errno::enomem;
  }
  if (!wanted.has_room_for(*message)) return Errno::e2big;
  const u64 given = TRY(write_to(thread, to, *message, wanted.size));
  if (copies) return given;
  messages_.remove(*message);
  count(*message, false);
  state_.bytes -= message->size;
  --state_.messages;
  note_receiver(wanted.process);
  memory::release(message);
  (void)senders_.wake_all();
  return given;
}

void Queue::remove() {
  LockGuard guard{lock_};
  removed_ = true;
  (void)senders_.wake_all();
  while (Wait* wait = receivers_.front()) wait->end(Errno::eidrm);
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
