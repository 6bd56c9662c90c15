// Finding a program for execve, and giving its bytes to the loader (task/program_source.h).
// Context: the calling thread, no lock held.
#pragma once

#include <string_view>

#include "fs/inode.h"
#include "task/program_source.h"

namespace corral {
class Thread;
}

namespace corral::fs {

// The regular file that `path` names, seen from `directory` (a descriptor, or at_fdcwd), with a right to execute.
// enoent, enotdir, eloop, enametoolong; eacces: not a regular file, or nobody may execute it;
// etxtbsy: somebody has it open for writing. blocked: somebody has a lease of it.
Result<Ref<Inode>> open_executable(Thread& thread, int directory, std::string_view path, u32 flags = 0);

// The absolute name of a file, for /proc/[pid]/exe and AT_EXECFN; a prefix of `to`. enoent: it has no name any more;
// enametoolong.
Result<std::string_view> name_of(Inode& file, std::span<char> to);

// The file as the loader sees it; lives on the stack of the call.
class ExecutableSource final : public ByteSource {
 public:
  explicit ExecutableSource(Ref<Inode> file) : file_{static_cast<Ref<Inode>&&>(file)} {}
  Result<u64> read_at(u64 offset, std::span<u8> to) override;
  Result<Ref<vm::Backing>> backing() override;
  [[nodiscard]] u64 size() override;
  [[nodiscard]] Inode& file() { return *file_; }

 private:
  Ref<Inode> file_;
};

}  // namespace corral::fs
