// sendto, recvfrom, sendmsg, recvmsg, sendmmsg, recvmmsg. Source: Linux man-pages send(2), recv(2), sendmmsg(2), recvmmsg(2).
//
// Words of the thread's step: 0 the bytes of the message under way, 1 the messages that are done (…mmsg), 2 the deadline of the
// socket's own time limit, 3 that of recvmmsg, 5 the file. After a wait everything else is read anew from the program.
#include "abi/linux/control_messages.h"
#include "abi/linux/held_file.h"
#include "abi/linux/internet_calls.h"
#include "device/clock.h"
#include "fs/inode.h"
#include "fs/socket/time_limit.h"

namespace corral::abi {

namespace {

using fs::OpenFile;
using fs::Receiving;
using fs::Sending;
using fs::Socket;
using fs::Transfer;

constexpr unsigned word_bytes = 0, word_messages = 1, word_all = 3;
constexpr u64 max_transfer = 0x7fff'f000;
constexpr u64 most_messages = 1024;
constexpr u64 most_pieces = 1024;

enum MessageFlag : u32 {
  flag_out_of_band = 1,
  flag_peek = 2,
  flag_truncated = 0x20,
  flag_do_not_wait = 0x40,
  flag_wait_all = 0x100,
  flag_error_queue = 0x2000,
  flag_no_signal = 0x4000,
  flag_more = 0x8000,
  flag_wait_for_one = 0x10000,
  flag_close_on_exec = 0x4000'0000,
  flag_compatible = 0x8000'0000,  // of calls with 32-bit structures only
};

// The name in a message's header. Linux takes the name in before it looks at anything else there.
Result<SocketAddress> name_in(Call& call, const MessageHeader& header) {
  SocketAddress address;
  const i32 size = header.name == 0 ? 0 : static_cast<i32>(header.name_size);
  if (size < 0) return Errno::einval;
  TRY(address.take(call, {header.name}, size < i32{largest_address} ? size : i32{largest_address}));
  if (header.piece_count > most_pieces) return Errno::emsgsize;
  return address;
}

// ---- sending -----------------------------------------------------------------------------------------------------------

// `given`: there was a name at all.
Result<void> choose_target(Call& call, Socket& socket, const SocketAddress& address, bool given, Sending& sending) {
  if (given && socket.family() == fs::SocketFamily::internet) {
    if (socket.connection_based()) return {};  // TCP knows where it sends, as on Linux
    sending.address = TRY(internet_target(address));
    sending.has_address = true;
    return {};
  }
  if (!given || socket.type() == fs::SocketType::packets) return {};
  if (socket.type() == fs::SocketType::stream)
    return static_cast<fs::UnixSocket&>(socket).connected() ? Errno::eisconn : Errno::eopnotsupp;
  sending.target = TRY(socket_at(call, address, socket.type()));
  return {};
}

Result<i64> send(Call& call, OpenFile& file, Socket& socket, Transfer& transfer, u32 flags, Sending& sending) {
  if ((flags & flag_out_of_band) != 0) return Errno::eopnotsupp;
  sending.nonblocking = file.nonblocking() || (flags & flag_do_not_wait) != 0;
  sending.quiet = (flags & flag_no_signal) != 0;
  sending.more = (flags & flag_more) != 0;
  sending.deadline = fs::deadline_at_socket(call.thread, socket.send_timeout_ns);
  if (!sending.identified) sending.identity = fs::sender_identity_of(call.thread);
  const Result<u64> sent = socket.send(call.thread, transfer, sending);
  if (!sent.ok()) return sent.error();
  return static_cast<i64>(sent.value());
}

Result<i64> send_to(Call& call, OpenFile& file) {
  Socket& socket = *TRY(socket_behind(file));
  Sending sending;
  SocketAddress address;
  const bool given = call.address(4).value != 0;
  if (given) TRY(address.take(call, call.address(4), call.number(5)));
  TRY(choose_target(call, socket, address, given && call.number(5) != 0, sending));
  Transfer transfer{call.space, call.thread.caller, call.address(1), fs::smaller(call.argument[2], max_transfer),
                    call.thread.step.word[word_bytes]};
  return send(call, file, socket, transfer, static_cast<u32>(call.argument[3]), sending);
}

Result<i64> sys_sendto(Call& call) {
  HeldFile file = TRY(HeldFile::take(call, 0));
  return file.answer(call, send_to(call, *file));
}

Result<i64> send_message(Call& call, OpenFile& file, VirtualAddress header_at, u32 flags) {
  Socket& socket = *TRY(socket_behind(file));
  const auto header = TRY(call.read<MessageHeader>(header_at));
  const SocketAddress address = TRY(name_in(call, header));
  Transfer transfer = TRY(
      Transfer::vector(call.space, call.thread.caller, {header.pieces}, header.piece_count, call.thread.step.word[word_bytes]));
  Sending sending;
  Result<i64> outcome = [&]() -> Result<i64> {
    TRY(take_control(call, header, sending));
    TRY(choose_target(call, socket, address, header.name != 0 && header.name_size != 0, sending));
    return send(call, file, socket, transfer, flags, sending);
  }();
  delete sending.rights;  // what was not sent
  return outcome;
}

Result<i64> sys_sendmsg(Call& call) {
  if ((call.argument[2] & flag_compatible) != 0) return Errno::einval;
  HeldFile file = TRY(HeldFile::take(call, 0));
  return file.answer(call, send_message(call, *file, call.address(1), static_cast<u32>(call.argument[2])));
}

// ---- receiving -----------------------------------------------------------------------------------------------------------

// Of connections of the Internet nothing is told, so the place for it is not looked at.
bool tells_sender(const Socket& socket) {
  return socket.family() != fs::SocketFamily::internet || !socket.connection_based();
}

Result<u64> receive(Call& call, OpenFile& file, Socket& socket, Transfer& transfer, u32 flags, Receiving& receiving) {
  if ((flags & flag_out_of_band) != 0) return socket.type() == fs::SocketType::stream ? Errno::einval : Errno::eopnotsupp;
  if ((flags & flag_error_queue) != 0 && socket.family() == fs::SocketFamily::internet) return Errno::eagain;  // always empty
  receiving.nonblocking = file.nonblocking() || (flags & flag_do_not_wait) != 0;
  receiving.peek = (flags & flag_peek) != 0;
  receiving.wait_for_all = (flags & flag_wait_all) != 0;
  receiving.deadline = fs::deadline_at_socket(call.thread, socket.receive_timeout_ns);
  const Result<u64> got = socket.receive(call.thread, transfer, receiving);
  if (!got.ok()) return got.error();
  // The real length of a packet, if that was asked for.
  if ((flags & flag_truncated) != 0 && receiving.truncated) return u64{receiving.whole_size};
  return u64{got.value()};
}

Result<i64> receive_from(Call& call, OpenFile& file) {
  Socket& socket = *TRY(socket_behind(file));
  const VirtualAddress name_at = call.address(4);
  const VirtualAddress length_at = call.address(5);
  Receiving receiving;
  receiving.wants_name = name_at.value != 0;
  if (receiving.wants_name) {  // so that telling it cannot block
    TRY(vm::prepare(call.space, call.thread.caller, length_at, sizeof(i32), vm::Access::write));
    const i32 room = TRY(call.read<i32>(length_at));
    if (room < 0) return Errno::einval;
    const u64 told = tells_sender(socket) ? fs::smaller(static_cast<u64>(room), largest_address) : 0;
    TRY(vm::prepare(call.space, call.thread.caller, name_at, told, vm::Access::write));
  }
  Transfer transfer{call.space, call.thread.caller, call.address(1), fs::smaller(call.argument[2], max_transfer),
                    call.thread.step.word[word_bytes]};
  const u64 got = TRY(receive(call, file, socket, transfer, static_cast<u32>(call.argument[3]), receiving));
  if (name_at.value == 0) return static_cast<i64>(got);
  TRY(tell_endpoint(call, receiving.from, name_at, length_at));
  return static_cast<i64>(got);
}

Result<i64> sys_recvfrom(Call& call) {
  HeldFile file = TRY(HeldFile::take(call, 0));
  return file.answer(call, receive_from(call, *file));
}

Result<i64> receive_message(Call& call, OpenFile& file, VirtualAddress header_at, u32 flags) {
  Socket& socket = *TRY(socket_behind(file));
  auto header = TRY(call.read<MessageHeader>(header_at));
  if (header.name != 0 && static_cast<i32>(header.name_size) < 0) return Errno::einval;
  if (header.piece_count > most_pieces) return Errno::emsgsize;
  Transfer transfer = TRY(
      Transfer::vector(call.space, call.thread.caller, {header.pieces}, header.piece_count, call.thread.step.word[word_bytes]));
  TRY(vm::prepare(call.space, call.thread.caller, header_at, sizeof header, vm::Access::write));
  if (header.name != 0 && tells_sender(socket)) {
    TRY(vm::prepare(call.space, call.thread.caller, {header.name}, fs::smaller(header.name_size, largest_address),
                    vm::Access::write));
  }
  const u64 control_size = header.control_size;
  TRY(prepare_control(call, header));
  Receiving receiving;
  receiving.takes_rights = true;
  receiving.wants_name = header.name != 0;
  const Result<u64> got = receive(call, file, socket, transfer, flags, receiving);
  if (!got.ok()) return got.error();
  header.flags = static_cast<i32>(flags & flag_close_on_exec);
  if (receiving.truncated) header.flags |= flag_truncated;
  give_control(call, header, socket, receiving, (flags & flag_close_on_exec) != 0);
  delete receiving.rights;  // given, or without room
  if (header.name != 0) { header.name_size = TRY(write_endpoint(call, receiving.from, {header.name}, header.name_size)); }
  TRY(call.write(header_at + offsetof(MessageHeader, name_size), header.name_size));
  TRY(call.write(header_at + offsetof(MessageHeader, flags), header.flags));
  TRY(call.write(header_at + offsetof(MessageHeader, control_size), control_size - header.control_size));
  return static_cast<i64>(got.value());
}

Result<i64> sys_recvmsg(Call& call) {
  if ((call.argument[2] & flag_compatible) != 0) return Errno::einval;
  HeldFile file = TRY(HeldFile::take(call, 0));
  return file.answer(call, receive_message(call, *file, call.address(1), static_cast<u32>(call.argument[2])));
}

// ---- several messages ------------------------------------------------------------------------------------------------------

struct ManyHeader {  // struct mmsghdr
  MessageHeader header;
  u32 size, padding;
};
static_assert(sizeof(ManyHeader) == 64);

// Calls one(header's address, flags) for each; what is done counts, an error only when it comes first.
template <class One>
Result<i64> each(Call& call, u64 count, One&& one) {
  u64& done = call.thread.step.word[word_messages];
  while (done < count) {
    const VirtualAddress at = call.address(1) + done * sizeof(ManyHeader);
    const VirtualAddress size_at = at + offsetof(ManyHeader, size);
    Result<void> ready = vm::prepare(call.space, call.thread.caller, size_at, sizeof(u32), vm::Access::write);
    const Result<i64> outcome = ready.ok() ? one(at) : Result<i64>{ready.error()};
    if (!outcome.ok()) {
      if (outcome.error() == Errno::blocked || done == 0) return outcome.error();
      break;
    }
    TRY(call.write(size_at, static_cast<u32>(outcome.value())));
    ++done;
    call.thread.step.word[word_bytes] = 0;
    call.thread.step.word[fs::time_limit_word] = 0;
    call.thread.begin_waits();
  }
  return static_cast<i64>(done);
}

Result<i64> sys_sendmmsg(Call& call) {
  if ((call.argument[3] & flag_compatible) != 0) return Errno::einval;
  HeldFile file = TRY(HeldFile::take(call, 0));
  const u64 count = fs::smaller(static_cast<u32>(call.argument[2]), most_messages);
  const u32 flags = static_cast<u32>(call.argument[3]);
  return file.answer(call, [&]() -> Result<i64> {
    (void)TRY(socket_behind(*file));
    return each(call, count, [&](VirtualAddress at) { return send_message(call, *file, at, flags); });
  }());
}

Result<i64> receive_many(Call& call, OpenFile& file) {
  StepState& step = call.thread.step;
  const Instant end = step.word[word_all] == 0 ? never : Instant{static_cast<i64>(step.word[word_all])};
  (void)TRY(socket_behind(file));
  u32 flags = static_cast<u32>(call.argument[3]) & ~flag_wait_for_one;
  const bool wait_for_one = (call.argument[3] & flag_wait_for_one) != 0;
  if (wait_for_one && step.word[word_messages] > 0) flags |= flag_do_not_wait;
  return each(call, fs::smaller(static_cast<u32>(call.argument[2]), most_messages), [&](VirtualAddress at) -> Result<i64> {
    if (step.word[word_messages] > 0 && end != never && clock::now() >= end) return Errno::eagain;
    const Result<i64> outcome = receive_message(call, file, at, flags);
    if (!outcome.ok()) return outcome.error();
    if (wait_for_one) flags |= flag_do_not_wait;
    return i64{outcome.value()};
  });
}

Result<i64> sys_recvmmsg(Call& call) {
  if ((call.argument[3] & flag_compatible) != 0) return Errno::einval;
  u64& deadline = call.thread.step.word[word_all];
  if (call.argument[4] != 0 && deadline == 0) {
    const Duration wait = TRY(duration_of(TRY(call.read<TimeSpec>(call.address(4)))));
    deadline = static_cast<u64>(deadline_after(clock::now(), wait).ns);
  }
  HeldFile file = TRY(HeldFile::take(call, 0));
  return file.answer(call, receive_many(call, *file));
}

constexpr Entry entries[] = {
    {44, "sendto", sys_sendto},   {45, "recvfrom", sys_recvfrom},  {46, "sendmsg", sys_sendmsg},
    {47, "recvmsg", sys_recvmsg}, {299, "recvmmsg", sys_recvmmsg}, {307, "sendmmsg", sys_sendmmsg},
};

}  // namespace

std::span<const Entry> message_calls() {
  return entries;
}

}  // namespace corral::abi
