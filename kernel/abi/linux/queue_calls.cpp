// msgget, msgsnd, msgrcv, msgctl. The order of the checks is Linux's. Source: Linux man-pages msgget(2), msgop(2), msgctl(2).
#include "abi/linux/file_handlers.h"
#include "abi/linux/ipc_structures.h"
#include "ipc/sysv/queue.h"

namespace corral::abi {

namespace {

using ipc::Queue;
using ipc::QueueLimits;
using ipc::QueueMessage;

// `wanted`: bits of access_read …; 0: its owner's rights.
Result<Ref<Queue>> queue_numbered(Call& call, u32 wanted) {
  LockGuard guard{ipc::queues::table().lock()};
  Queue* queue = ipc::queues::table().find(call.number(0));
  // Once the call has waited, the queue has been there: if not any more, it was removed.
  if (queue == nullptr) return call.thread.step.phase != 0 ? Errno::eidrm : Errno::einval;
  const Credentials& credentials = call.thread.credentials();
  TRY(wanted != 0 ? ipc::check_access(queue->ownership, credentials, wanted) : ipc::check_owner(queue->ownership, credentials));
  return Ref<Queue>::share(*queue);
}

Result<i64> sys_msgget(Call& call) {
  const auto fits = [](Queue&) { return Result<void>{}; };
  return i64{TRY(ipc::get(ipc::queues::table(), call.thread.credentials(), call.number(0), static_cast<u32>(call.argument[1]),
                          fits, Queue::create))};
}

// ---- sending and receiving -----------------------------------------------------------------------------------------------

Result<i64> send(Call& call, QueueMessage& message) {
  TRY(vm::copy_in(call.space, call.thread.caller, message.text, call.address(1) + sizeof(i64), message.size));
  Ref<Queue> queue = TRY(queue_numbered(call, ipc::access_write));
  const Result<void> outcome = queue->send(call.thread, message, static_cast<u32>(call.argument[3]));
  if (!outcome.ok()) {
    if (outcome.error() == Errno::blocked) call.thread.step.phase = 1;
    return outcome.error();
  }
  return 0;
}

Result<i64> sys_msgsnd(Call& call) {
  const u64 size = call.argument[2];
  const i64 type = TRY(call.read<i64>(call.address(1)));
  if (size > QueueLimits::message.value() || call.number(0) < 0 || type < 1) return Errno::einval;
  void* storage = memory::allocate(sizeof(QueueMessage) + size);
  if (storage == nullptr) return Errno::enomem;
  auto* message = ::new (storage) QueueMessage{};
  message->type = type;
  message->size = size;
  Result<i64> outcome = send(call, *message);
  if (!outcome.ok()) memory::release(message);
  return outcome;
}

Result<i64> sys_msgrcv(Call& call) {
  const u32 flags = static_cast<u32>(call.argument[4]);
  if (call.number(0) < 0 || static_cast<i64>(call.argument[2]) < 0) return Errno::einval;
  const bool copies = (flags & ipc::message_copy) != 0;
  if (copies && ((flags & ipc::message_except) != 0 || (flags & ipc::flag_no_wait) == 0)) return Errno::einval;
  if (call.thread.step.kept) return count_of(Queue::go_on_receiving(call.thread, call.address(1)));
  Ref<Queue> queue = TRY(queue_numbered(call, ipc::access_read));
  return count_of(queue->receive(call.thread, call.address(1),
                                 {.size = call.argument[2],
                                  .type = static_cast<i64>(call.argument[3]),
                                  .flags = flags,
                                  .process = call.process.id().value}));
}

// ---- msgctl ----------------------------------------------------------------------------------------------------------------

struct QueueStatus {  // struct msqid64_ds
  IpcPermissions permissions;
  i64 sent, received, changed;
  u64 bytes, messages, most_bytes;
  i32 last_sender, last_receiver;
  u64 unused[2];
};
static_assert(sizeof(QueueStatus) == 120);

Result<i64> tell_limits(Call& call, bool in_use) {
  struct Limits {  // struct msginfo
    i32 pool, map, message, bytes, queues, segment_size, headers;
    u16 segments;
  };
  const auto bytes = static_cast<i32>(QueueLimits::bytes.value());
  const auto queues = static_cast<i32>(QueueLimits::queues.value());
  const auto message = static_cast<i32>(QueueLimits::message.value());
  Limits limits{queues * (bytes / 1024), bytes, message, bytes, queues, 16, bytes, 0xffff};
  i32 place = 0;
  {
    LockGuard guard{ipc::queues::table().lock()};
    place = ipc::queues::table().highest();
    if (in_use) limits.pool = static_cast<i32>(ipc::queues::table().used());
  }
  if (in_use) {
    const ipc::queues::Totals totals = ipc::queues::totals();
    limits.map = static_cast<i32>(totals.messages);
    limits.headers = static_cast<i32>(totals.bytes);
  }
  TRY(call.write(call.address(2), limits));
  return place;
}

Result<i64> tell_status(Call& call, bool by_place, bool anybody) {
  auto& table = ipc::queues::table();
  QueueStatus status{};
  Ref<Queue> queue;
  {
    LockGuard guard{table.lock()};
    Queue* found = by_place ? table.at(static_cast<u32>(call.number(0))) : table.find(call.number(0));
    if (found == nullptr) return Errno::einval;
    if (!anybody) TRY(ipc::check_access(found->ownership, call.thread.credentials(), ipc::access_read));
    queue = Ref<Queue>::share(*found);
    status.permissions = permissions_of(found->ownership, found->number);
  }
  const ipc::QueueState state = queue->state();
  status.sent = state.sent_s;
  status.received = state.received_s;
  status.changed = state.changed_s;
  status.bytes = state.bytes;
  status.messages = state.messages;
  status.most_bytes = state.most_bytes;
  status.last_sender = state.last_sender;
  status.last_receiver = state.last_receiver;
  TRY(call.write(call.address(2), status));
  return by_place ? queue->number : 0;
}

Result<i64> change_queue(Call& call) {
  const QueueStatus wanted = TRY(call.read<QueueStatus>(call.address(2)));
  Ref<Queue> queue = TRY(queue_numbered(call, 0));
  if (wanted.most_bytes > QueueLimits::bytes.value() && !call.thread.may(Capability::sys_resource)) return Errno::eperm;
  {
    LockGuard guard{ipc::queues::table().lock()};
    change_owner(queue->ownership, wanted.permissions);
  }
  queue->set_most_bytes(wanted.most_bytes);
  return 0;
}

Result<i64> remove_queue(Call& call) {
  Ref<Queue> queue = TRY(ipc::take_out(ipc::queues::table(), call.thread.credentials(), call.number(0)));
  queue->remove();
  return 0;
}

Result<i64> sys_msgctl(Call& call) {
  enum : u32 { stat_place = 11, limits_in_use = 12, stat_any = 13 };
  const u32 command = static_cast<u32>(call.argument[1]);
  if (call.number(0) < 0 || call.number(1) < 0) return Errno::einval;
  switch (command) {
    case ipc::command_limits:
    case limits_in_use: return tell_limits(call, command == limits_in_use);
    case ipc::command_stat: return tell_status(call, false, false);
    case stat_place:
    case stat_any: return tell_status(call, true, command == stat_any);
    case ipc::command_set: return change_queue(call);
    case ipc::command_remove: return remove_queue(call);
    default: return Errno::einval;
  }
}

constexpr Entry entries[] = {
    {68, "msgget", sys_msgget}, {69, "msgsnd", sys_msgsnd}, {70, "msgrcv", sys_msgrcv}, {71, "msgctl", sys_msgctl}};

}  // namespace

std::span<const Entry> queue_calls() {
  return entries;
}

}  // namespace corral::abi
