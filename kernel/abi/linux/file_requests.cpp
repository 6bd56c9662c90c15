// See file_requests.h. Source: Linux ioctl_iflags(2), ioctl_ficlone(2), uapi linux/fs.h, linux/fiemap.h. The order of the checks is Linux's.
#include "abi/linux/file_requests.h"

#include "fs/inode.h"
#include "fs/permission.h"
#include "fs/watch/notices.h"

namespace corral::abi {

namespace {

using fs::FileType;
using fs::Inode;
using fs::OpenFile;

Result<i64> tell_flags(Call& call, Inode& file) {
  if (file.told_flags() == 0) return Errno::enotty;
  TRY(call.write(call.address(2), file.file_flags.load(Order::relaxed)));
  return 0;
}

Result<i64> change_flags(Call& call, Inode& file) {
  const auto wanted = TRY(call.read<u32>(call.address(2)));
  if (file.told_flags() == 0) return Errno::enotty;
  TRY(may_change(file));
  if (!fs::permission::owns(file, call.thread.credentials())) return Errno::eperm;
  TRY(file.set_flags(wanted, call.thread.may(Capability::linux_immutable)));
  fs::notices::tell(file, fs::notices::attributes_changed);
  return 0;
}

// No file system here has blocks that files share.
Result<i64> share_blocks(OpenFile& from, OpenFile& to) {
  if (&from.inode().file_system() != &to.inode().file_system()) return Errno::exdev;
  if (from.inode().is_directory() || to.inode().is_directory()) return Errno::eisdir;
  if (from.inode().type() != FileType::regular || to.inode().type() != FileType::regular) return Errno::einval;
  if (!from.readable() || !to.writable() || (to.flags() & fs::o_append) != 0) return Errno::ebadf;
  return Errno::eopnotsupp;
}

Result<i64> clone_file(Call& call, OpenFile& to, i64 descriptor) {
  const Ref<OpenFile> from = TRY(resources_of(call).files().get(static_cast<int>(descriptor)));
  if ((from->flags() & fs::o_path) != 0) return Errno::ebadf;
  return share_blocks(*from, to);
}

}  // namespace

std::optional<Result<i64>> file_request(Call& call, OpenFile& file, u32 request) {
  enum : u32 {
    block_size = 2,
    clone_whole = 0x4004'9409,
    clone_part = 0x4020'940d,
    get_flags = 0x8008'6601,
    set_flags = 0x4008'6602,
  };
  switch (request) {
    case block_size: {
      const auto size = static_cast<i32>(file.inode().file_system().statistics().block_size);
      return success(call.write(call.address(2), size));
    }
    case clone_whole: return clone_file(call, file, call.number(2));
    case clone_part: {
      struct Part {
        i64 descriptor;
        u64 from, length, to;
      };
      const Result<Part> part = call.read<Part>(call.address(2));
      return part.ok() ? clone_file(call, file, part.value().descriptor) : Result<i64>{part.error()};
    }
    case get_flags: return tell_flags(call, file.inode());
    case set_flags: return change_flags(call, file.inode());
    default: return {};
  }
}

}  // namespace corral::abi
