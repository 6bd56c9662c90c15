// splice, tee, vmsplice: bytes between a pipe and another file, through a piece of kernel memory. The order of the checks is
// Linux's. Source: Linux man-pages splice(2), tee(2), vmsplice(2).
//
// Nothing is taken out before there is a place for it, and no side is kept over a wait: see fs/pipe_splice.cpp. A call ends as soon as it has moved something and
// would have to wait for more.
#include "abi/linux/file_handlers.h"
#include "fs/inode.h"
#include "fs/pipe.h"
#include "fs/socket/socket_file.h"
#include "memory/heap_array.h"

namespace corral::abi {

namespace {

using fs::OpenFile;
using fs::Pipe;
using fs::Transfer;

constexpr u32 flag_nonblocking = 2, known_flags = 0xf;
constexpr u64 piece = 64 << 10;
constexpr u64 max_transfer = 0x7fff'f000;
constexpr unsigned word_moved = 0;  // of the thread's StepState

struct Ends {
  Ref<OpenFile> in, out;
  Pipe* from = nullptr;  // null: no pipe
  Pipe* to = nullptr;
};

Result<Ends> ends_of(Call& call, unsigned in, unsigned out) {
  Ends ends;
  ends.in = TRY(real_file_at(call, in));
  ends.out = TRY(real_file_at(call, out));
  ends.from = fs::pipe_of(*ends.in);
  ends.to = fs::pipe_of(*ends.out);
  return Result<Ends>{std::move(ends)};
}

// ---- pipe to pipe ------------------------------------------------------------------------------------------------------------

// Moves, or with `copies` copies, up to `size` bytes. Answers how many.
Result<u64> between_pipes(Thread& thread, Pipe& from, Pipe& to, u64 size, bool nonblocking, bool copies) {
  memory::HeapArray<u8> buffer;
  TRY(buffer.allocate(piece));
  const u64 there = TRY(from.claim_data(thread, nonblocking));
  if (there == 0) return u64{0};
  const Result<u64> room = to.claim_room(thread, nonblocking, fs::smaller(size, there));
  u64 done = 0;
  while (room.ok() && done < room.value()) {
    const std::span<u8> bytes = buffer.first(fs::smaller(room.value() - done, piece));
    from.look(done, bytes);
    to.put(bytes);
    done += bytes.size();
  }
  if (room.ok()) to.release_room();
  from.release_data(copies ? 0 : done);
  if (!room.ok()) return room.error();
  return done;
}

// ---- pipe to file -------------------------------------------------------------------------------------------------------------

// Where a file is read or written: at its position, or at the place that the program keeps.
struct Place {
  bool own = false;  // the file's
  u64 offset = 0;
};

// What was moved in earlier runs of the step is in `moved`: when the file makes the step wait after some pieces, they stay.
Result<u64> from_pipe(Thread& thread, Pipe& from, OpenFile& out, const Place& place, u64 size, bool nonblocking) {
  u64& moved = thread.step.word[word_moved];
  memory::HeapArray<u8> buffer;
  TRY(buffer.allocate(piece));
  const Result<u64> there = from.claim_data(thread, nonblocking || moved > 0);
  if (!there.ok() && (moved == 0 || there.error() == Errno::blocked)) return there.error();
  if (!there.ok() || there.value() == 0) return moved;
  const u64 most = fs::smaller(there.value(), size - moved);
  u64 done = 0;
  Errno error{};
  while (done < most) {
    const std::span<u8> bytes = buffer.first(fs::smaller(most - done, piece));
    from.look(done, bytes);
    Transfer source{std::span<const u8>{bytes}};
    const Result<u64> written =
        place.own ? out.write(thread, source) : out.write_at(thread, place.offset + moved + done, source);
    if (!written.ok()) error = written.error();
    if (!written.ok() || written.value() == 0) break;
    done += written.value();
  }
  from.release_data(done);
  moved += done;
  if (error == Errno::blocked || (error != Errno{} && moved == 0)) return error;
  return moved;
}

// ---- file to pipe -------------------------------------------------------------------------------------------------------------

// Of what is not a pipe, only UNIX sockets go by the call's wish not to wait, as on Linux.
Result<u64> read_in(Thread& thread, OpenFile& in, Transfer& target, bool nonblocking) {
  fs::Socket* socket = fs::unix_socket_of(in);
  if (socket == nullptr || !nonblocking) return in.read(thread, target);
  fs::Receiving receiving;
  receiving.nonblocking = true;
  return socket->receive(thread, target, receiving);
}

Result<u64> into_pipe(Thread& thread, OpenFile& in, const Place& place, Pipe& to, u64 size, bool nonblocking) {
  memory::HeapArray<u8> buffer;
  TRY(buffer.allocate(piece));
  const u64 room = fs::smaller(TRY(to.claim_room(thread, nonblocking, size)), piece);
  Transfer target{buffer.first(room)};
  Result<u64> got = place.own ? read_in(thread, in, target, nonblocking) : in.read_at(thread, place.offset, target);
  if (got.ok()) to.put(buffer.first(got.value()));
  to.release_room();
  return got;
}

// ---- splice ----------------------------------------------------------------------------------------------------------------

Result<Place> place_of(Call& call, VirtualAddress offset_at) {
  if (offset_at.value == 0) return Place{true, 0};
  return Place{false, TRY(call.read<u64>(offset_at))};
}

Result<u64> splice(Call& call, const Ends& ends, bool nonblocking) {
  const u64 size = fs::smaller(call.argument[4], max_transfer);
  Thread& thread = call.thread;
  const bool in_waits = (ends.in->flags() & fs::o_nonblock) == 0;
  const bool out_waits = (ends.out->flags() & fs::o_nonblock) == 0;
  if (ends.from != nullptr && ends.to != nullptr) {
    if (ends.from == ends.to) return Errno::einval;
    return between_pipes(thread, *ends.from, *ends.to, size, nonblocking || !in_waits || !out_waits, false);
  }
  const bool reads_pipe = ends.from != nullptr;
  if (!reads_pipe && ends.to == nullptr) return Errno::einval;
  OpenFile& file = reads_pipe ? *ends.out : *ends.in;
  const VirtualAddress offset_at = call.address(reads_pipe ? 3 : 1);
  const Place place = TRY(place_of(call, offset_at));
  if (!place.own && !file.seek(0, fs::Whence::current).ok()) return Errno::einval;
  if (static_cast<i64>(place.offset) < 0) return Errno::einval;
  if (file.inode().is_directory() || file.inode().type() == fs::FileType::unknown) return Errno::einval;  // counters, timers …
  if (reads_pipe && (file.flags() & fs::o_append) != 0) return Errno::einval;
  const u64 moved = TRY(reads_pipe ? from_pipe(thread, *ends.from, file, place, size, nonblocking || !in_waits)
                                   : into_pipe(thread, file, place, *ends.to, size, nonblocking || !out_waits));
  if (!place.own) (void)call.write(offset_at, place.offset + moved);
  return moved;
}

Result<i64> sys_splice(Call& call) {
  const u32 flags = static_cast<u32>(call.argument[5]);
  if (call.argument[4] == 0) return 0;
  if ((flags & ~known_flags) != 0) return Errno::einval;
  const Ends ends = TRY(ends_of(call, 0, 2));
  if ((ends.from != nullptr && call.argument[1] != 0) || (ends.to != nullptr && call.argument[3] != 0)) return Errno::espipe;
  for (const unsigned at : {1u, 3u}) {  // where the position will be told
    if (call.argument[at] == 0) continue;
    TRY(vm::prepare(call.space, call.thread.caller, call.address(at), sizeof(u64), vm::Access::write));
  }
  if (!ends.in->readable() || !ends.out->writable()) return Errno::ebadf;
  return count_of(splice(call, ends, (flags & flag_nonblocking) != 0));
}

Result<i64> sys_tee(Call& call) {
  const u32 flags = static_cast<u32>(call.argument[3]);
  if ((flags & ~known_flags) != 0) return Errno::einval;
  if (call.argument[2] == 0) return 0;
  const Ends ends = TRY(ends_of(call, 0, 1));
  if (!ends.in->readable() || !ends.out->writable()) return Errno::ebadf;
  if (ends.from == nullptr || ends.to == nullptr || ends.from == ends.to) return Errno::einval;
  const bool nonblocking = (flags & flag_nonblocking) != 0 || ((ends.in->flags() | ends.out->flags()) & fs::o_nonblock) != 0;
  const u64 size = fs::smaller(call.argument[2], max_transfer);
  return count_of(between_pipes(call.thread, *ends.from, *ends.to, size, nonblocking, true));
}

Result<i64> sys_vmsplice(Call& call) {
  const u32 flags = static_cast<u32>(call.argument[3]);
  if ((flags & ~known_flags) != 0) return Errno::einval;
  Ref<OpenFile> file = TRY(real_file_at(call, 0));
  Pipe* pipe = fs::pipe_of(*file);
  Transfer list = TRY(
      Transfer::vector(call.space, call.thread.caller, call.address(1), call.argument[2], call.thread.step.word[word_moved]));
  if (list.size() == 0) return 0;
  if (pipe == nullptr) return Errno::ebadf;
  const bool nonblocking = (flags & flag_nonblocking) != 0;
  if (file->writable()) return count_of(pipe->write(call.thread, list, nonblocking, true));
  return count_of(pipe->read(call.thread, list, nonblocking));
}

constexpr Entry entries[] = {{275, "splice", sys_splice}, {276, "tee", sys_tee}, {278, "vmsplice", sys_vmsplice}};

}  // namespace

std::span<const Entry> splice_calls() {
  return entries;
}

}  // namespace corral::abi
