// Calls that take names of files.
#include "probes/errno/table.h"

#include "tests/check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <utime.h>

namespace errnotest {

namespace {

const timespec times[2] = {{1, 0}, {2, 0}};
const timespec bad_times[2] = {{1, 2'000'000'000}, {2, -1}};
const timespec no_times[2] = {{1, UTIME_OMIT}, {2, UTIME_OMIT}};
const timeval old_times[2] = {{1, 0}, {2, 0}};
const timeval bad_old_times[2] = {{1, 1'000'000}, {2, -1}};
struct OpenHow {
  uint64_t flags, mode, resolve;
};
const OpenHow how = {O_RDONLY, 0, 0};
const OpenHow bad_mode = {O_RDONLY, 0644, 0};
const OpenHow bad_flags = {1UL << 40, 0, 0};
const OpenHow bad_resolve = {O_RDONLY, 0, 1UL << 30};
const char* const no_strings[] = {nullptr};

Argument mode() {
  return choice(0644, 0, 0777, 07777, 0170000, -1);
}
Argument at_flags() {
  return bits(0);
}

void add_opening(Table& table) {
  for (const long flags : {O_RDONLY, O_WRONLY, O_RDWR, 3, O_RDONLY | O_DIRECTORY, O_RDONLY | O_NOFOLLOW, O_PATH,
                           O_PATH | O_NOFOLLOW, O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_EXCL, O_RDONLY | O_CREAT | O_DIRECTORY,
                           O_WRONLY | O_TRUNC, O_RDONLY | O_TRUNC, O_RDWR | O_CREAT | O_NOFOLLOW}) {
    table.add(SYS_openat, "openat", directory_fd(), path("file"), choice(flags | O_NONBLOCK), mode()).changes = true;
  }
  table.add(SYS_open, "open", path("file"), bits(0), mode()).changes = true;
  table.add(SYS_openat, "openat", directory_fd(), path(".."), bits(0), mode()).changes = true;
  table.add(SYS_creat, "creat", path("file"), mode()).changes = true;
  for (const OpenHow* good : {&how, &bad_mode, &bad_flags, &bad_resolve}) {
    table.add(SYS_openat2, "openat2", directory_fd(), path("file"), in(good), choice(24, 0, 23, 25, 32, 4096, 4097, -1))
        .changes = true;
  }
}

void add_names(Table& table) {
  table.add(SYS_mkdir, "mkdir", path("missing"), mode()).changes = true;
  table.add(SYS_mkdirat, "mkdirat", directory_fd(), path("missing"), mode()).changes = true;
  table.add(SYS_rmdir, "rmdir", path("dir")).changes = true;
  table.add(SYS_unlink, "unlink", path("file")).changes = true;
  table.add(SYS_unlinkat, "unlinkat", directory_fd(), path("file"), bits(0)).changes = true;
  table.add(SYS_unlinkat, "unlinkat AT_REMOVEDIR", directory_fd(), path("dir"), same(AT_REMOVEDIR)).changes = true;
  table.add(SYS_link, "link", path("file"), path("target")).changes = true;
  table.add(SYS_linkat, "linkat", directory_fd(), path("link"), directory_fd(), path("target"), at_flags()).changes = true;
  table.add(SYS_symlink, "symlink", path("file"), path("target")).changes = true;
  table.add(SYS_symlinkat, "symlinkat", path("file"), directory_fd(), path("target")).changes = true;
  for (const char* good : {"file", "dir", "link"}) {
    table.add(SYS_rename, "rename", path(good), path("target")).changes = true;
    table.add(SYS_renameat2, "renameat2", directory_fd(), path(good), directory_fd(), path("target"), bits(0)).changes = true;
  }
  table.add(SYS_renameat, "renameat", directory_fd(), path("file"), directory_fd(), path("dir")).changes = true;
  table.add(SYS_renameat2, "renameat2 NOREPLACE", directory_fd(), path("file"), directory_fd(), path("dir"), same(1)).changes =
      true;
  table.add(SYS_renameat2, "renameat2 EXCHANGE", directory_fd(), path("file"), directory_fd(), path("dir"), same(2)).changes =
      true;
  table
      .add(SYS_mknod, "mknod", path("missing"),
           choice(S_IFIFO | 0644, 0, 0644, S_IFREG | 0644, S_IFDIR, S_IFLNK, S_IFSOCK, 0170000, 0030000, -1), same(0))
      .changes = true;
  table.add(SYS_mknodat, "mknodat", directory_fd(), path("missing"), same(S_IFIFO | 0644), same(0)).changes = true;
  table.add(SYS_readlink, "readlink", path("link"), out(), choice(64, 0, 1, -1, INT32_MIN, 1L << 32));
  table.add(SYS_readlinkat, "readlinkat", directory_fd(), path("link"), out(), choice(64, 0, 1, -1, INT32_MIN));
}

void add_attributes(Table& table) {
  table.add(SYS_access, "access", path("file"), choice(0, 1, 2, 4, 7, 8, -1));
  table.add(SYS_faccessat, "faccessat", directory_fd(), path("file"), choice(0, 1, 7, 8, -1));
  table.add(SYS_faccessat2, "faccessat2", directory_fd(), path("file"), choice(0, 1, 7, 8), at_flags());
  table.add(SYS_stat, "stat", path("file"), out());
  table.add(SYS_lstat, "lstat", path("file"), out());
  table.add(SYS_fstat, "fstat", fd(fd_file), out());
  table.add(SYS_newfstatat, "newfstatat", directory_fd(), path("file"), out(), at_flags());
  table.add(SYS_newfstatat, "newfstatat AT_EMPTY_PATH", directory_fd(), path(""), out(), same(AT_EMPTY_PATH));
  table.add(SYS_statx, "statx", directory_fd(), path("file"), at_flags(), bits(0), out());
  table.add(SYS_statfs, "statfs", path("file"), out());
  table.add(SYS_fstatfs, "fstatfs", fd(fd_file), out());
  table.add(SYS_chmod, "chmod", path("file"), mode()).changes = true;
  table.add(SYS_fchmod, "fchmod", fd(fd_file), mode());
  table.add(SYS_fchmodat, "fchmodat", directory_fd(), path("file"), mode()).changes = true;
  table.add(SYS_chown, "chown", path("file"), same(-1), same(-1)).changes = true;
  table.add(SYS_lchown, "lchown", path("link"), same(-1), same(-1)).changes = true;
  table.add(SYS_fchown, "fchown", fd(fd_file), same(-1), same(-1));
  table.add(SYS_fchownat, "fchownat", directory_fd(), path("file"), same(-1), same(-1), at_flags()).changes = true;
  table.add(SYS_truncate, "truncate", path("file"), choice(0, -1, LONG_MIN)).changes = true;
  for (const timespec* good : {times, bad_times, no_times}) {
    table.add(SYS_utimensat, "utimensat", directory_fd(), path("file"), in(good), at_flags());
  }
  table.add(SYS_utimensat, "utimensat of a descriptor", fd(fd_file), same(0), in(times), bits(0));
  for (const timeval* good : {old_times, bad_old_times}) {
    table.add(SYS_utimes, "utimes", path("file"), in(good));
    table.add(SYS_futimesat, "futimesat", directory_fd(), path("file"), in(good));
  }
  table.add(SYS_utime, "utime", path("file"), in(old_times));
}

void add_places(Table& table) {
  table.add(SYS_chdir, "chdir", path("dir")).changes = true;
  table.add(SYS_fchdir, "fchdir", fd(fd_directory)).changes = true;
  table.add(SYS_chroot, "chroot", path("."));
  table.add(SYS_getcwd, "getcwd", out(), choice(4096, 0, 1, 5, -1, LONG_MIN));
  table.add(SYS_umask, "umask", choice(022, 0777, 07777, -1));
  table.add(SYS_execve, "execve", path("missing"), in(no_strings), in(no_strings)).changes = true;
  table.add(SYS_execveat, "execveat", directory_fd(), path("missing"), in(no_strings), in(no_strings), at_flags()).changes =
      true;
  table.add(SYS_umount2, "umount2", path("dir"), choice(0, 1 << 20, -1));
}

}  // namespace

void add_path_rows(Table& table) {
  add_opening(table);
  add_names(table);
  add_attributes(table);
  add_places(table);
}

}  // namespace errnotest
