// File handles: name_to_handle_at, open_by_handle_at. A handle is the number of the file system and one of the file there.
// Source: Linux man-page open_by_handle_at(2). The order of the checks is Linux's.
#include "abi/linux/open_found.h"
#include "fs/inode.h"
#include "fs/pipe.h"

namespace corral::abi {

namespace {

struct HandleHead {  // struct file_handle, without what follows
  u32 size;
  i32 type;
};
struct Handle {
  u64 file_system, file;
};
constexpr i32 handle_type = 1;
constexpr u32 largest_handle = 128;

Result<i64> sys_name_to_handle_at(Call& call) {
  constexpr u32 only_identifies = 0x200;  // AT_HANDLE_FID: it will not be opened
  const u32 flags = static_cast<u32>(call.argument[4]);
  if ((flags & ~(fs::at_symlink_follow | fs::at_empty_path | only_identifies)) != 0) return Errno::einval;
  NamedFile named;
  const fs::Follow follow = (flags & fs::at_symlink_follow) != 0 ? fs::Follow::yes : fs::Follow::no;
  Ref<fs::Inode> file = TRY(named.existing(call, call.number(0), call.address(1), follow, flags));
  HandleHead head = TRY(call.read<HandleHead>(call.address(2)));
  if (head.size > largest_handle) return Errno::einval;
  const u64 number = TRY(file->file_system().handle_of(*file));
  const bool fits = head.size >= sizeof(Handle);
  const u64 mount = file->file_system().device();
  head = {sizeof(Handle), handle_type};
  TRY(call.write(call.address(3), static_cast<i32>(mount)));
  if (fits) TRY(call.write(call.address(2) + sizeof head, Handle{mount, number}));
  TRY(call.write(call.address(2), head));
  return fits ? Result<i64>{i64{0}} : Errno::eoverflow;
}

// The file system is the one that the first argument is in.
Result<Ref<fs::Inode>> file_of_handle(Call& call) {
  const auto head = TRY(call.read<HandleHead>(call.address(1)));
  if (head.size == 0 || head.size > largest_handle) return Errno::einval;
  Handle handle{};
  if (head.size == sizeof handle) handle = TRY(call.read<Handle>(call.address(1) + sizeof head));
  Ref<fs::Inode> where;
  if (call.number(0) == fs::at_fdcwd) {
    where = resources_of(call).directory();
  } else {
    Ref<fs::OpenFile> file = TRY(file_at(call, 0));
    where = Ref<fs::Inode>::share(file->inode());
  }
  fs::FileSystem& file_system = where->file_system();
  if (head.type != handle_type || head.size != sizeof handle || handle.file_system != file_system.device())
    return Errno::estale;
  return file_system.find_by_handle(handle.file);
}

Result<i64> sys_open_by_handle_at(Call& call) {
  if (!call.thread.may(Capability::dac_read_search)) return Errno::eperm;
  const u32 flags = static_cast<u32>(call.argument[2]);
  Ref<fs::Inode> inode = TRY(file_of_handle(call));
  Result<Ref<fs::OpenFile>> file = open_found(call, *inode, flags | fs::o_largefile, false);
  if (file.ok() || file.error() != Errno::blocked) fs::abandon_fifo_open(call.thread);
  if (!file.ok()) return file.error();
  const bool marked = (flags & fs::o_cloexec) != 0;
  return i64{TRY(resources_of(call).files().install(file.value(), marked, call.process.limits.open_files))};
}

constexpr Entry entries[] = {
    {303, "name_to_handle_at", sys_name_to_handle_at},
    {304, "open_by_handle_at", sys_open_by_handle_at},
};

}  // namespace

std::span<const Entry> handle_calls() {
  return entries;
}

}  // namespace corral::abi
