// Words that all of fs/ shares: kinds of files, attributes, and the numbers of Linux's file interface.
// Sources: Linux uapi asm-generic/fcntl.h, linux/stat.h, linux/fs.h; POSIX.1-2017 <sys/stat.h>.
#pragma once

#include <string_view>

#include "lib/types.h"

namespace corral::fs {

// Numbered as in getdents64 (d_type); shifted left by 12 it is the type part of st_mode.
enum class FileType : u8 {
  unknown = 0,
  fifo = 1,
  character = 2,
  directory = 4,
  block = 6,
  regular = 8,
  symlink = 10,
  socket = 12
};
constexpr u32 mode_of(FileType type) {
  return static_cast<u32>(type) << 12;
}
constexpr FileType type_of_mode(u32 mode) {
  return static_cast<FileType>(mode >> 12 & 15);
}

// Device numbers in the kernel's form; stat gives them to programs as Linux encodes them (new_encode_dev).
struct DeviceNumber {
  u32 major = 0;
  u32 minor = 0;
  constexpr bool operator==(const DeviceNumber&) const = default;
  [[nodiscard]] constexpr u64 encoded() const {
    return (minor & 0xff) | (u64{major & 0xfff} << 8) | (u64{minor & ~0xffu} << 12) | (u64{major & ~0xfffu} << 32);
  }
  static constexpr DeviceNumber decoded(u64 value) {
    return {static_cast<u32>((value >> 8 & 0xfff) | (value >> 32 & ~u64{0xfff})),
            static_cast<u32>((value & 0xff) | (value >> 12 & ~u64{0xff}))};
  }
};

// What stat tells. Times are nanoseconds since 1970; size in bytes; blocks of 512 bytes.
struct Attributes {
  u64 device = 0;
  u64 inode = 0;
  FileType type = FileType::unknown;
  u32 permissions = 0;  // the low 12 bits of st_mode
  u32 links = 1;
  u32 user = 0;
  u32 group = 0;
  DeviceNumber special{};
  u64 size = 0;
  u64 blocks = 0;
  u32 block_size = page_size;  // that reading and writing are best done in
  i64 accessed_ns = 0;
  i64 modified_ns = 0;
  i64 changed_ns = 0;
  i64 born_ns = 0;
};

// What chmod, chown and utimensat ask for; a field counts when its `set_` says so.
struct AttributeChange {
  bool set_permissions = false, set_user = false, set_group = false, set_accessed = false, set_modified = false;
  bool of_owner = false;    // a chown, even one that changes neither: the bits that let the file run as its owner go
  bool to_present = false;  // both times are set to now, as whoever may write the file may do
  u32 permissions = 0;
  u32 user = 0;
  u32 group = 0;
  i64 accessed_ns = 0;
  i64 modified_ns = 0;
};

// Setting an extended attribute. `create`: it must not be there (eexist); `replace`: it must be (enodata).
struct AttributeSetting {
  bool create = false, replace = false;
};

struct FileSystemStatistics {
  u64 magic = 0;        // f_type
  u64 block_size = page_size;
  u64 blocks = 0;  // of block_size bytes
  u64 blocks_free = 0;  // the same
  u64 blocks_kept = 0;  // of the free ones, for the privileged only
  u64 pages_beside = 0;  // pages of contents in memory that do not count as blocks
  u64 files = 0;
  u64 files_free = 0;
};

inline constexpr u64 name_max = 255;   // bytes of one name
inline constexpr u64 path_max = 4096;  // bytes of a path with its NUL
inline constexpr u32 max_symlinks = 40;

// Flags of open.
inline constexpr u32 o_accmode = 3, o_rdonly = 0, o_wronly = 1, o_rdwr = 2;
inline constexpr u32 o_creat = 0100, o_excl = 0200, o_noctty = 0400, o_trunc = 01000, o_append = 02000, o_nonblock = 04000;
inline constexpr u32 o_dsync = 010000, o_async = 020000, o_direct = 040000, o_largefile = 0100000, o_directory = 0200000;
inline constexpr u32 o_nofollow = 0400000, o_noatime = 01000000, o_cloexec = 02000000, o_path = 010000000;
inline constexpr u32 o_tmpfile = 020000000;

// Flags of files as chattr sets them (ioctl_iflags(2)); statx tells the first five by the same bits.
inline constexpr u32 flag_compressed = 4, flag_immutable = 0x10, flag_append = 0x20, flag_no_dump = 0x40,
                     flag_encrypted = 0x800, flag_no_access_time = 0x80;

inline constexpr int at_fdcwd = -100;
inline constexpr u32 at_symlink_nofollow = 0x100, at_removedir = 0x200, at_symlink_follow = 0x400, at_empty_path = 0x1000;
inline constexpr u32 at_eaccess = 0x200;

// Readiness, as poll has it.
inline constexpr u32 poll_in = 1, poll_pri = 2, poll_out = 4, poll_err = 8, poll_hup = 0x10, poll_nval = 0x20;
inline constexpr u32 poll_rdnorm = 0x40, poll_rdband = 0x80, poll_wrnorm = 0x100, poll_wrband = 0x200, poll_rdhup = 0x2000;
// What those who wait to read, or to write, ask for; and what is told unasked.
inline constexpr u32 poll_readable = poll_in | poll_rdnorm, poll_writable = poll_out | poll_wrnorm;
inline constexpr u32 poll_unasked = poll_err | poll_hup;

constexpr u64 smaller(u64 a, u64 b) {
  return a < b ? a : b;
}
constexpr u64 larger(u64 a, u64 b) {
  return a < b ? b : a;
}

// The present in wall time, ns since 1970. Any context.
[[nodiscard]] i64 wall_time_ns();

}  // namespace corral::fs
