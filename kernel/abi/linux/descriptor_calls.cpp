// close, dup, fcntl, ioctl, lseek, pipes, truncation, fsync. Source: Linux man-pages close(2), dup(2), fcntl(2), ioctl(2),
// lseek(2), pipe(2), ftruncate(2).
#include "abi/linux/file_handlers.h"
#include "abi/linux/file_requests.h"
#include "abi/linux/file_signal_commands.h"
#include "abi/linux/lock_calls.h"
#include "fs/cache/write_back.h"
#include "fs/disk.h"
#include "fs/inode.h"
#include "fs/pipe.h"
#include "fs/positioned_file.h"
#include "fs/seals.h"
#include "fs/shrinking.h"
#include "fs/watch/notices.h"

namespace corral::abi {

namespace {

using fs::FileTable;
using fs::OpenFile;

u64 limit_of(Call& call) {
  return call.process.limits.open_files;
}

Result<i64> as_descriptor(Result<int> descriptor) {
  if (!descriptor.ok()) return descriptor.error();
  return descriptor.value();
}

// ---- close, dup --------------------------------------------------------------------------------------------------------

Result<i64> sys_close(Call& call) {
  return success(resources_of(call).files().close(call.number(0)));
}

Result<i64> sys_close_range(Call& call) {
  constexpr u32 unshare = 2, mark = 4;
  const u32 first = static_cast<u32>(call.argument[0]);
  const u32 last = static_cast<u32>(call.argument[1]);
  const u32 flags = static_cast<u32>(call.argument[2]);
  if (first > last || (flags & ~(unshare | mark)) != 0) return Errno::einval;
  if ((flags & unshare) != 0) TRY(call.process.unshare_resources());
  resources_of(call).files().close_range(first, last, (flags & mark) != 0);
  return 0;
}

Result<i64> sys_dup(Call& call) {
  Ref<OpenFile> file = TRY(file_at(call, 0));
  return as_descriptor(resources_of(call).files().install(file, false, limit_of(call)));
}

Result<i64> replace(Call& call, bool close_on_exec) {
  Ref<OpenFile> file = TRY(file_at(call, 0));
  TRY(resources_of(call).files().replace(call.number(1), file, close_on_exec, limit_of(call)));
  return call.number(1);
}

Result<i64> sys_dup2(Call& call) {
  if (call.number(0) != call.number(1)) return replace(call, false);
  (void)TRY(file_at(call, 0));
  return call.number(1);
}

Result<i64> sys_dup3(Call& call) {
  const u32 flags = static_cast<u32>(call.argument[2]);
  if ((flags & ~fs::o_cloexec) != 0 || call.number(0) == call.number(1)) return Errno::einval;
  return replace(call, flags != 0);
}

// ---- fcntl -------------------------------------------------------------------------------------------------------------

Result<i64> pipe_size(const Call& call, OpenFile& file, bool set, u64 size) {
  fs::Pipe* pipe = fs::pipe_of(file);
  if (pipe == nullptr) return Errno::ebadf;
  return set ? count_of(pipe->set_capacity(size, call.thread.may(Capability::sys_resource)))
             : static_cast<i64>(pipe->capacity());
}

// In the order in which Linux checks.
Result<void> seal(OpenFile& file, u64 seals) {
  if (seals > ~u32{0}) return Errno::einval;
  if (!file.writable()) return Errno::eperm;
  if ((seals & ~u64{fs::all_seals}) != 0) return Errno::einval;
  return file.inode().add_seals(static_cast<u32>(seals));
}

Result<i64> sys_fcntl(Call& call) {
  enum : int {
    dup_fd = 0,
    get_fd = 1,
    set_fd = 2,
    get_flags = 3,
    set_flags = 4,
    get_lock = 5,
    set_lock = 6,
    set_lock_wait = 7,
    ofd_get_lock = 36,
    ofd_set_lock = 37,
    ofd_set_lock_wait = 38,
    dup_fd_cloexec = 1030,
    set_pipe_size = 1031,
    get_pipe_size = 1032,
    add_seals = 1033,
    get_seals = 1034,
  };
  switch (call.number(1)) {  // these may wait, and hold their file meanwhile
    case get_lock: return lock_command(call, {.ask = true});
    case set_lock: return lock_command(call, {});
    case set_lock_wait: return lock_command(call, {.wait = true});
    case ofd_get_lock: return lock_command(call, {.ask = true, .of_open_file = true});
    case ofd_set_lock: return lock_command(call, {.of_open_file = true});
    case ofd_set_lock_wait: return lock_command(call, {.wait = true, .of_open_file = true});
    default: break;
  }
  FileTable& files = resources_of(call).files();
  Ref<OpenFile> file = TRY(file_at(call, 0));
  const int command = call.number(1);
  const bool about_descriptor = (command >= 0 && command <= set_fd) || command == dup_fd_cloexec;
  if ((file->flags() & fs::o_path) != 0 && !about_descriptor && command != get_flags) return Errno::ebadf;
  switch (command) {
    case dup_fd:
    case dup_fd_cloexec:
      return as_descriptor(files.install(file, call.number(1) == dup_fd_cloexec, limit_of(call), call.number(2)));
    case get_fd: {
      const bool marked = TRY(files.close_on_exec(call.number(0)));
      return marked ? 1 : 0;
    }
    case set_fd: return success(files.set_close_on_exec(call.number(0), (call.argument[2] & 1) != 0));
    case get_flags: return static_cast<i64>(file->flags());
    case set_flags: {
      u32 wanted = static_cast<u32>(call.argument[2]);
      const bool appends = (wanted & fs::o_append) != 0;
      if (appends != ((file->flags() & fs::o_append) != 0) && file->inode().has_flag(fs::flag_append)) return Errno::eperm;
      const bool packets = fs::pipe_of(*file) != nullptr;
      if ((wanted & fs::o_direct) != 0 && !packets && !reads_directly(file->inode())) return Errno::einval;
      const u32 differs = (wanted ^ file->flags()) & fs::o_async;
      if (differs != 0) {
        if (file->can_signal()) {
          TRY(tell_by_signals(call, *file, (wanted & fs::o_async) != 0));
        } else {
          wanted ^= differs;  // stays as it is
        }
      }
      file->set_flags(wanted);
      return 0;
    }
    case set_pipe_size: return pipe_size(call, *file, true, call.argument[2]);
    case get_pipe_size: return pipe_size(call, *file, false, 0);
    case add_seals: return success(seal(*file, call.argument[2]));
    case get_seals: return i64{TRY(file->inode().seals())};
    default: return signal_command(call, *file);
  }
}

// ---- ioctl -------------------------------------------------------------------------------------------------------------

Result<i64> sys_ioctl(Call& call) {
  enum : u32 {
    not_close_on_exec = 0x5450,
    close_on_exec = 0x5451,
    nonblocking = 0x5421,
    asynchronous = 0x5452,
    bytes_ready = 0x541b,
    set_owner = 0x8901,         // FIOSETOWN, SIOCSPGRP
    set_process_group = 0x8902,
    get_owner = 0x8903,         // FIOGETOWN, SIOCGPGRP
    get_process_group = 0x8904,
  };
  Ref<OpenFile> file = TRY(file_at(call, 0));
  if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  const u32 request = static_cast<u32>(call.argument[1]);
  switch (request) {
    case close_on_exec:
    case not_close_on_exec:
      return success(resources_of(call).files().set_close_on_exec(call.number(0), request == close_on_exec));
    case nonblocking: {
      const i32 value = TRY(call.read<i32>(call.address(2)));
      file->set_flags(value != 0 ? file->flags() | fs::o_nonblock : file->flags() & ~fs::o_nonblock);
      return 0;
    }
    case asynchronous: {
      const u32 wanted = TRY(call.read<i32>(call.address(2))) != 0 ? fs::o_async : 0;
      const u32 flags = file->flags();
      if ((flags & fs::o_async) == wanted) return 0;
      if (!file->can_signal()) return Errno::enotty;
      TRY(tell_by_signals(call, *file, wanted != 0));
      file->set_flags((flags & ~fs::o_async) | wanted);
      return 0;
    }
    case bytes_ready: {
      const u64 bytes = TRY(file->available());
      TRY(call.write(call.address(2), static_cast<i32>(fs::smaller(bytes, 0x7fff'ffff))));
      return 0;
    }
    case set_owner:
    case set_process_group:
    case get_owner:
    case get_process_group:
      if (file->inode().type() != fs::FileType::socket) return Errno::enotty;
      return owner_request(call, *file, request == set_owner || request == set_process_group);
    default: break;
  }
  std::optional<Result<i64>> answered = file_request(call, *file, request);
  return answered ? std::move(*answered) : file->control(call.thread, call.space, request, call.argument[2]);
}

// ---- positions and sizes -------------------------------------------------------------------------------------------------

Result<i64> sys_lseek(Call& call) {
  Ref<OpenFile> file = TRY(file_at(call, 0));
  if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  const u32 whence = static_cast<u32>(call.argument[2]);
  if (whence > 4) return Errno::einval;
  return count_of(file->seek(static_cast<i64>(call.argument[1]), static_cast<fs::Whence>(whence)));
}

Result<i64> sys_ftruncate(Call& call) {
  if (TRY(fs::finish_shrinking(call.thread))) return 0;
  if (static_cast<i64>(call.argument[1]) < 0) return Errno::einval;
  Ref<OpenFile> file = TRY(real_file_at(call, 0));
  if (!file->writable()) return Errno::einval;
  if (file->inode().has_flag(fs::flag_append)) return Errno::eperm;
  TRY(fs::check_new_size(call.thread, file->inode(), call.argument[1]));
  TRY(fs::resize_mapped(call.thread, file->inode(), file.get(), call.argument[1]));
  return 0;
}

bool has_contents(fs::FileType type) {
  return type == fs::FileType::regular || type == fs::FileType::directory || type == fs::FileType::block;
}

Result<i64> sys_fsync(Call& call) {
  Ref<OpenFile> file = TRY(real_file_at(call, 0));
  if (!has_contents(file->inode().type())) return Errno::einval;
  return success(file->sync(call.thread.step.word[0]));
}

Result<i64> sys_syncfs(Call& call) {
  Ref<OpenFile> file = TRY(real_file_at(call, 0));
  const Result<void> synced = sync_file_system(call, file->inode().file_system());
  if (!synced.ok() && synced.error() == Errno::blocked) return Errno::blocked;
  const Result<void> told = file->tell_file_system_errors();
  return success(synced.ok() ? told : synced);
}

Result<i64> sys_sync(Call& call) {
  TRY(fs::write_back::flush_all(std::span{call.thread.step.word}.first<3>(), call.thread));
  const Result<void> flushed = fs::Disk::flush_all();
  return !flushed.ok() && flushed.error() == Errno::blocked ? Result<i64>{Errno::blocked} : 0;  // it cannot fail
}

// ---- new files without a name -------------------------------------------------------------------------------------------

Result<i64> make_pipe(Call& call, u32 flags) {
  if ((flags & ~(fs::o_cloexec | fs::o_nonblock | fs::o_direct)) != 0) return Errno::einval;
  FileTable& files = resources_of(call).files();
  TRY(files.check_room(limit_of(call)));
  TRY(vm::prepare(call.space, call.thread.caller, call.address(0), 8, vm::Access::write));
  fs::PipePair pair = TRY(fs::make_pipe(flags & (fs::o_nonblock | fs::o_direct), call.thread.may(Capability::sys_resource)));
  const bool marked = (flags & fs::o_cloexec) != 0;
  const int reader = TRY(files.install(pair.reader, marked, limit_of(call)));
  const Result<int> writer = files.install(pair.writer, marked, limit_of(call));
  Result<void> told = writer.ok() ? Result<void>{} : Result<void>{writer.error()};
  if (writer.ok()) {
    struct Pair {
      i32 reader, writer;
    };
    told = call.write(call.address(0), Pair{reader, writer.value()});
    if (!told.ok()) (void)files.close(writer.value());
  }
  if (!told.ok()) {
    (void)files.close(reader);
    return told.error();
  }
  return 0;
}

Result<i64> sys_pipe(Call& call) {
  return make_pipe(call, 0);
}

Result<i64> sys_pipe2(Call& call) {
  return make_pipe(call, static_cast<u32>(call.argument[1]));
}

constexpr Entry entries[] = {
    {3, "close", sys_close},          {8, "lseek", sys_lseek},     {16, "ioctl", sys_ioctl},
    {22, "pipe", sys_pipe},           {32, "dup", sys_dup},        {33, "dup2", sys_dup2},
    {72, "fcntl", sys_fcntl},         {74, "fsync", sys_fsync},    {75, "fdatasync", sys_fsync},
    {77, "ftruncate", sys_ftruncate}, {162, "sync", sys_sync},     {292, "dup3", sys_dup3},
    {293, "pipe2", sys_pipe2},        {306, "syncfs", sys_syncfs}, {436, "close_range", sys_close_range},
};

}  // namespace

Result<void> sync_file_system(Call& call, fs::FileSystem& file_system) {
  const std::span word{call.thread.step.word};
  TRY(fs::write_back::flush_all(word.first<3>(), call.thread, &file_system));
  return file_system.sync(word[3]);
}

std::span<const Entry> descriptor_calls() {
  return entries;
}

}  // namespace corral::abi
