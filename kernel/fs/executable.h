// A program that execve is about to run: finding it, and giving its bytes to the loader (task/program_source.h).
//
// An Executable holds what must be so from the beginning to the end of loading: the file counts as open, so that nobody gets a lease
// for writing; leases against reading have been broken after that; and nobody may write to it. When it goes, so does all of
// it, but for what has been taken over by the process that runs the program.
// Context: the calling thread, no lock held.
#pragma once

#include <string_view>

#include "fs/write_denial.h"
#include "task/program_source.h"

namespace corral {
class Thread;
}

namespace corral::fs {

// The absolute name of a file, for /proc/[pid]/exe and AT_EXECFN; a prefix of `to`. enoent: it has no name any more;
// enametoolong.
Result<std::string_view> name_of(Inode& file, std::span<char> to);

// Lives on the stack of the call.
class Executable final : public ByteSource {
 public:
  // The regular file that `path` names, seen from `directory` (a descriptor, or at_fdcwd), with a right to execute.
  // enoent, enotdir, eloop, enametoolong; eacces: not a regular file, or nobody may execute it;
  // etxtbsy: somebody has it open for writing. blocked: somebody has a lease of it.
  static Result<Executable> open(Thread& thread, int directory, std::string_view path, u32 flags = 0);

  Result<u64> read_at(u64 offset, std::span<u8> to) override;
  Result<Ref<vm::Backing>> backing() override;
  [[nodiscard]] u64 size() override;
  [[nodiscard]] Inode& file() { return open_->inode(); }
  // The process that runs the program keeps writers away from now on (Resources::set_program).
  [[nodiscard]] WriteDenial take_denial() { return static_cast<WriteDenial&&>(denial_); }

 private:
  Executable(Ref<OpenFile> open, WriteDenial denial)
      : open_{static_cast<Ref<OpenFile>&&>(open)}, denial_{static_cast<WriteDenial&&>(denial)} {}
  Ref<OpenFile> open_;  // counts as one that is open (Inode::opens)
  WriteDenial denial_;
};

}  // namespace corral::fs
