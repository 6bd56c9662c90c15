// mq_open, mq_unlink, mq_timedsend, mq_timedreceive, mq_notify, mq_getsetattr. The order of the checks is Linux's.
// Source: the Linux man-pages of these calls.
#include "abi/linux/file_handlers.h"
#include "abi/linux/ipc_structures.h"
#include "abi/linux/time_values.h"
#include "device/clock.h"
#include "fs/inode.h"
#include "fs/permission.h"
#include "ipc/posix/message_queue.h"
#include "memory/heap.h"

namespace corral::abi {

namespace {

using ipc::MessageQueue;
using Limits = ipc::MessageQueueLimits;

struct QueueAttributes {  // struct mq_attr
  i64 flags, most, bytes, count, unused[4];
};
static_assert(sizeof(QueueAttributes) == 64);

struct OpenQueue {
  Ref<fs::OpenFile> file;
  MessageQueue* queue;
};

// ebadf: none, or not a queue.
Result<OpenQueue> queue_at(Call& call) {
  Ref<fs::OpenFile> file = TRY(file_at(call, 0));
  MessageQueue* queue = ipc::message_queues::of(*file);
  if (queue == nullptr) return Errno::ebadf;
  return Result<OpenQueue>{OpenQueue{std::move(file), queue}};
}

// ---- mq_open, mq_unlink --------------------------------------------------------------------------------------------------

Result<Ref<MessageQueue>> make_queue(Call& call, const QueueAttributes* wanted) {
  const u32 permissions = static_cast<u32>(call.argument[2]) & 0777 & ~umask_of(call);
  u64 most = fs::smaller(Limits::default_messages.value(), Limits::user_messages.value());
  u64 bytes = fs::smaller(Limits::default_bytes.value(), Limits::user_bytes.value());
  if (wanted != nullptr) {
    if (wanted->most <= 0 || wanted->bytes <= 0) return Errno::einval;
    most = static_cast<u64>(wanted->most);
    bytes = static_cast<u64>(wanted->bytes);
    const bool privileged = call.thread.may(Capability::sys_resource);
    if (most > (privileged ? Limits::messages : Limits::user_messages.value())) return Errno::einval;
    if (bytes > (privileged ? Limits::message_bytes : Limits::user_bytes.value())) return Errno::einval;
  }
  auto& files = ipc::message_queues::files();
  Ref<MessageQueue> made = TRY(MessageQueue::create(files, permissions, most, bytes, call.process.limits.message_queues));
  const Credentials& credentials = call.thread.credentials();
  made->set_owner(credentials.user.files, credentials.group.files);
  return made;
}

Result<Ref<MessageQueue>> find_existing(const Call& call, std::string_view name, u32 flags) {
  Ref<MessageQueue> found = TRY(ipc::message_queues::find(name));
  if ((flags & fs::o_creat) != 0 && (flags & fs::o_excl) != 0) return Errno::eexist;
  const u32 way = flags & fs::o_accmode;
  if (way == fs::o_accmode) return Errno::einval;
  const u32 wanted = (way != fs::o_wronly ? fs::may_read : 0) | (way != fs::o_rdonly ? fs::may_write : 0);
  TRY(fs::permission::check(*found, call.thread.credentials(), wanted));
  return found;
}

Result<Ref<MessageQueue>> find_or_make(Call& call, std::string_view name, u32 flags, const QueueAttributes* wanted) {
  Result<Ref<MessageQueue>> found = find_existing(call, name, flags);
  if (found.ok() || found.error() != Errno::enoent || (flags & fs::o_creat) == 0 || name.empty()) return found;
  Ref<MessageQueue> made = TRY(make_queue(call, wanted));
  const Result<void> added = ipc::message_queues::add(name, made);
  if (added.ok()) return made;
  if (added.error() != Errno::eexist) return added.error();
  return find_existing(call, name, flags);  // another thread was faster
}

Result<i64> sys_mq_open(Call& call) {
  const u32 flags = static_cast<u32>(call.argument[1]);
  QueueAttributes wanted{};
  const bool given = call.argument[3] != 0;
  if (given) wanted = TRY(call.read<QueueAttributes>(call.address(3)));
  UserPath name;
  TRY(name.take(call, call.address(0)));
  Ref<MessageQueue> queue = TRY(find_or_make(call, name.text(), flags, given ? &wanted : nullptr));
  Ref<fs::OpenFile> file = TRY(queue->open({call.thread, flags & (fs::o_accmode | fs::o_nonblock)}));
  return i64{TRY(resources_of(call).files().install(file, true, call.process.limits.open_files))};
}

Result<i64> sys_mq_unlink(Call& call) {
  UserPath name;
  TRY(name.take(call, call.address(0)));
  const Ref<MessageQueue> queue = TRY(ipc::message_queues::find(name.text()));
  const Ref<fs::Inode> directory = ipc::message_queues::files().root();
  TRY(fs::permission::check_remove(*directory, *queue, call.thread.credentials()));
  return success(ipc::message_queues::unlink(name.text()));
}

// ---- sending and receiving -----------------------------------------------------------------------------------------------

// efault, einval.
Result<Deadline> deadline_of(Call& call, VirtualAddress at) {
  if (at.value == 0) return Deadline{};
  const Duration since_1970 = TRY(duration_of(TRY(call.read<TimeSpec>(at))));
  return Deadline::at_wall_time(since_1970.ns);
}

Result<i64> send(Call& call, const OpenQueue& open, ipc::PosixMessage& message, Deadline deadline) {
  TRY(vm::copy_in(call.space, call.thread.caller, message.text, call.address(1), message.size));
  return success(open.queue->send(call.thread, message, open.file->nonblocking(), deadline));
}

Result<i64> sys_mq_timedsend(Call& call) {
  const u64 size = call.argument[2];
  const u32 priority = static_cast<u32>(call.argument[3]);
  const Deadline deadline = TRY(deadline_of(call, call.address(4)));
  if (call.thread.step.kept) return success(MessageQueue::go_on_sending(call.thread, deadline));
  if (priority >= Limits::priorities) return Errno::einval;
  const OpenQueue open = TRY(queue_at(call));
  if (!open.file->writable()) return Errno::ebadf;
  if (size > open.queue->most_bytes()) return Errno::emsgsize;
  void* storage = memory::allocate(sizeof(ipc::PosixMessage) + size);
  if (storage == nullptr) return Errno::enomem;
  auto* message = ::new (storage) ipc::PosixMessage{};
  message->priority = priority;
  message->size = size;
  Result<i64> outcome = send(call, open, *message, deadline);
  if (!outcome.ok() && !call.thread.step.kept) memory::release(message);
  return outcome;
}

Result<i64> sys_mq_timedreceive(Call& call) {
  const Deadline deadline = TRY(deadline_of(call, call.address(4)));
  const ipc::Destination to{call.address(1), call.address(3)};
  if (call.thread.step.kept) return count_of(MessageQueue::go_on_receiving(call.thread, to, deadline));
  const OpenQueue open = TRY(queue_at(call));
  if (!open.file->readable()) return Errno::ebadf;
  if (call.argument[2] < open.queue->most_bytes()) return Errno::emsgsize;
  return count_of(open.queue->receive(call.thread, to, open.file->nonblocking(), deadline));
}

// ---- mq_notify, mq_getsetattr ----------------------------------------------------------------------------------------------

Result<i64> sys_mq_notify(Call& call) {
  enum : i32 { by_signal = 0, by_nothing = 1, by_thread = 2 };
  struct Event {  // struct sigevent
    u64 value;
    i32 signal, kind;
    u64 unused[6];
  };
  static_assert(sizeof(Event) == 64);
  Event event{};
  const bool registers = call.argument[1] != 0;
  if (registers) {
    event = TRY(call.read<Event>(call.address(1)));
    if (event.kind < by_signal || event.kind > by_thread) return Errno::einval;
    if (event.kind == by_signal && (event.signal < 0 || event.signal > signal_count)) return Errno::einval;
    if (event.kind == by_thread) {  // by a netlink socket, of which there is none
      Ref<fs::OpenFile> socket = TRY(resources_of(call).files().get(event.signal));
      return socket->inode().type() == fs::FileType::socket ? Errno::einval : Errno::enotsock;
    }
  }
  const OpenQueue open = TRY(queue_at(call));
  const i32 process = call.process.id().value;
  if (!registers) {
    open.queue->forget_notification(process);
    return 0;
  }
  return success(open.queue->notify({process, event.kind == by_signal ? event.signal : 0, event.value}));
}

Result<i64> sys_mq_getsetattr(Call& call) {
  QueueAttributes wanted{};
  const bool sets = call.argument[1] != 0;
  if (sets) {
    wanted = TRY(call.read<QueueAttributes>(call.address(1)));
    if ((wanted.flags & ~i64{fs::o_nonblock}) != 0) return Errno::einval;
  }
  const OpenQueue open = TRY(queue_at(call));
  QueueAttributes told{};
  told.flags = static_cast<i64>(open.file->flags() & fs::o_nonblock);
  told.most = static_cast<i64>(open.queue->most());
  told.bytes = static_cast<i64>(open.queue->most_bytes());
  told.count = static_cast<i64>(open.queue->count());
  if (call.argument[2] != 0) TRY(call.write(call.address(2), told));
  if (sets) open.file->set_flags((open.file->flags() & ~fs::o_nonblock) | static_cast<u32>(wanted.flags));
  return 0;
}

constexpr Entry entries[] = {
    {240, "mq_open", sys_mq_open},           {241, "mq_unlink", sys_mq_unlink},
    {242, "mq_timedsend", sys_mq_timedsend}, {243, "mq_timedreceive", sys_mq_timedreceive},
    {244, "mq_notify", sys_mq_notify},       {245, "mq_getsetattr", sys_mq_getsetattr},
};

}  // namespace

std::span<const Entry> message_queue_calls() {
  return entries;
}

}  // namespace corral::abi
