// flock, and the lock commands of fcntl. Source: Linux man-pages flock(2), fcntl(2). The order of the checks is Linux's.
#include "abi/linux/lock_calls.h"

#include "abi/linux/held_file.h"
#include "fs/file_locks.h"
#include "fs/inode.h"

namespace corral::abi {

namespace {

using fs::OpenFile;
using fs::file_locks::Kind;
using fs::file_locks::Range;

constexpr i16 type_read = 0, type_write = 1, type_none = 2;

struct LockRequest {  // struct flock
  i16 type, whence;
  i32 padding;
  i64 start, length;
  i32 process, more_padding;
};
static_assert(sizeof(LockRequest) == 32);

// einval, eoverflow.
Result<Range> range_of(OpenFile& file, const LockRequest& request) {
  i64 start = 0;
  switch (request.whence) {
    case 0: break;
    case 1: {
      const Result<u64> position = file.seek(0, fs::Whence::current);
      start = position.ok() ? static_cast<i64>(position.value()) : 0;
      break;
    }
    case 2: start = static_cast<i64>(file.inode().attributes().size); break;
    default: return Errno::einval;
  }
  if (__builtin_add_overflow(start, request.start, &start)) return Errno::eoverflow;
  if (start < 0) return Errno::einval;
  i64 end = 0;
  if (request.length > 0) {
    if (__builtin_add_overflow(start, request.length - 1, &end)) return Errno::eoverflow;
    return Range{static_cast<u64>(start), static_cast<u64>(end)};
  }
  if (request.length == 0) return Range{static_cast<u64>(start), fs::file_locks::last_byte};
  if (__builtin_add_overflow(start, request.length, &end) || end < 0) return Errno::einval;
  return Range{static_cast<u64>(end), static_cast<u64>(start) - 1};
}

Result<i64> ask(Call& call, OpenFile& file, LockRequest request, const LockCommand& command, const void* owner, Kind kind) {
  if (request.type != type_read && request.type != type_write) return Errno::einval;
  const Range range = TRY(range_of(file, request));
  if (command.of_open_file && request.process != 0) return Errno::einval;
  fs::file_locks::Found found;
  if (fs::file_locks::find(file.inode(), kind, owner, range, request.type == type_write, found)) {
    request.type = found.exclusive ? type_write : type_read;
    request.whence = 0;
    request.start = static_cast<i64>(found.range.first);
    request.length =
        found.range.last == fs::file_locks::last_byte ? 0 : static_cast<i64>(found.range.last - found.range.first + 1);
    request.process = found.process;
  } else {
    request.type = type_none;
  }
  TRY(call.write(call.address(2), request));
  return 0;
}

Result<i64> change(Call& call, OpenFile& file, const LockRequest& request, const LockCommand& command, const void* owner,
                   Kind kind) {
  const Range range = TRY(range_of(file, request));
  if (command.of_open_file && request.process != 0) return Errno::einval;
  switch (request.type) {
    case type_none: return success(fs::file_locks::unlock(file.inode(), kind, owner, range));
    case type_read:
      if (!file.readable()) return Errno::ebadf;
      break;
    case type_write:
      if (!file.writable()) return Errno::ebadf;
      break;
    default: return Errno::einval;
  }
  return success(fs::file_locks::lock(call.thread, file.inode(), kind, owner, range, request.type == type_write, command.wait));
}

Result<i64> sys_flock(Call& call) {
  constexpr u32 shared = 1, exclusive = 2, not_waiting = 4, unlock = 8, mandatory = 32;
  HeldFile file = TRY(HeldFile::take(call, 0));
  return file.answer(call, [&]() -> Result<i64> {
    if ((call.argument[1] & mandatory) != 0) return 0;  // LOCK_MAND, of which Linux, too, does nothing
    const u32 operation = static_cast<u32>(call.argument[1]) & ~not_waiting;
    if (operation != shared && operation != exclusive && operation != unlock) return Errno::einval;
    if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
    if (operation == unlock) return success(fs::file_locks::unlock(file->inode(), Kind::whole, &*file, {}));
    return success(fs::file_locks::lock(call.thread, file->inode(), Kind::whole, &*file, {}, operation == exclusive,
                                        (call.argument[1] & not_waiting) == 0));
  }());
}

constexpr Entry entries[] = {{73, "flock", sys_flock}};

}  // namespace

Result<i64> lock_command(Call& call, const LockCommand& command) {
  HeldFile file = TRY(HeldFile::take(call, 0));
  Result<i64> outcome = [&]() -> Result<i64> {
    if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
    const auto request = TRY(call.read<LockRequest>(call.address(2)));
    const Kind kind = command.of_open_file ? Kind::of_open_file : Kind::of_process;
    const void* owner = &resources_of(call).files();
    if (command.of_open_file) owner = &*file;
    return command.ask ? ask(call, *file, request, command, owner, kind) : change(call, *file, request, command, owner, kind);
  }();
  if (outcome.ok() || outcome.error() != Errno::blocked) fs::file_locks::give_up(call.thread);
  return file.answer(call, std::move(outcome));
}

std::span<const Entry> lock_calls() {
  return entries;
}

}  // namespace corral::abi
