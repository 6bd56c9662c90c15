// Reading cpio archives of the "newc" kind (magic 070701; 070702 with checksums), as the initramfs is one: several archives one
// behind the other, zeros between them. Pure: never reads outside `archive`, allocates nothing; tested and fuzzed on the host.
// Source: cpio(5), "New ASCII Format"; Linux Documentation/driver-api/early-userspace/buffer-format.rst.
#pragma once

#include <span>
#include <string_view>

#include "lib/types.h"

namespace corral::fs {

struct NewcEntry {
  std::string_view name;  // without "./" or "/" in front; "." is the root itself
  std::span<const u8> data;  // contents, or the target of a symbolic link
  u32 inode, mode, user, group, links, modified;  // modified: seconds since 1970
  u32 device_major, device_minor, special_major, special_minor;
  bool checksum_known;
  u32 checksum;  // of the data, as it should be
};

enum class NewcProblem : u8 {
  none,
  not_an_archive,  // the magic number is missing
  compressed,  // gzip, xz, zstd … instead of a plain archive
  bad_number,  // a header field is not eight hexadecimal digits
  bad_name,  // empty, longer than 4096 bytes, not terminated, or with ".." in it
  truncated,  // header, name or data reach beyond the end
  bad_checksum,
};
[[nodiscard]] const char* describe(NewcProblem problem);

class NewcReader {
 public:
  explicit NewcReader(std::span<const u8> archive) : archive_{archive} {}
  // The next entry; false at the end, and after a problem.
  [[nodiscard]] bool next(NewcEntry& entry);
  [[nodiscard]] NewcProblem problem() const { return problem_; }
  // Where the problem is, bytes from the beginning.
  [[nodiscard]] u64 offset() const { return offset_; }

 private:
  bool fail(NewcProblem problem, u64 offset);
  bool header_at(u64 offset, NewcEntry& entry, u64& name_size, u64& data_size);
  std::span<const u8> archive_;
  u64 offset_ = 0;
  NewcProblem problem_ = NewcProblem::none;
};

}  // namespace corral::fs
