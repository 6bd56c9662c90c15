// Room for files' contents: holes, allocation, seals, files without a name, walks that are restricted, appending by one call.
// On Linux in /dev/shm, which is a tmpfs, too.

#include "tests/check.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_GET_SEALS 1034
#endif
#ifndef O_TMPFILE
#define O_TMPFILE (020000000 | O_DIRECTORY)
#endif
#ifndef SEEK_DATA
#define SEEK_DATA 3
#define SEEK_HOLE 4
#endif

namespace {

constexpr long page = 4096;
constexpr int keep_size = 1, punch_hole = 2, collapse = 8, zero_range = 16;
constexpr int seal_seal = 1, seal_shrink = 2, seal_grow = 4, seal_write = 8, seal_future_write = 16;
constexpr unsigned sealable = 2;

char block[4 * page];

int memory_file(unsigned flags) {
  return static_cast<int>(syscall(SYS_memfd_create, "spacetest", flags));
}

int allocate(int file, int mode, long offset, long length) {
  return static_cast<int>(syscall(SYS_fallocate, file, mode, offset, length));
}

long blocks_of(int file) {
  struct stat status;
  CHECK_EQ(fstat(file, &status), 0);
  return status.st_blocks;
}

long size_of(int file) {
  struct stat status;
  CHECK_EQ(fstat(file, &status), 0);
  return status.st_size;
}

void check_holes() {
  const int file = memory_file(0);
  CHECK(file >= 0);
  memset(block, 'x', sizeof block);
  CHECK_EQ(write(file, block, sizeof block), sizeof block);
  CHECK_EQ(allocate(file, punch_hole | keep_size, 100, 50), 0);
  CHECK_EQ(allocate(file, punch_hole | keep_size, page, page), 0);
  char got[page];
  CHECK_EQ(pread(file, got, page, 0), page);
  CHECK(got[99] == 'x' && got[100] == 0 && got[149] == 0 && got[150] == 'x');
  CHECK_EQ(pread(file, got, page, page), page);
  CHECK(got[0] == 0 && got[page - 1] == 0);
  CHECK_EQ(blocks_of(file), 3 * page / 512);
  CHECK_EQ(lseek(file, 0, SEEK_HOLE), page);
  CHECK_EQ(lseek(file, page, SEEK_DATA), 2 * page);
  CHECK_EQ(lseek(file, page + 5, SEEK_HOLE), page + 5);
  CHECK_EQ(lseek(file, 2 * page, SEEK_HOLE), 4 * page);
  CHECK_ERRNO(lseek(file, 4 * page, SEEK_HOLE), ENXIO);
  CHECK_EQ(size_of(file), 4 * page);
  // A page that is mapped is seen to become empty, and stays the file's.
  auto* mapped = static_cast<char*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  CHECK(mapped != MAP_FAILED && mapped[3 * page] == 'x');
  CHECK_EQ(allocate(file, punch_hole | keep_size, 2 * page, 100 * page), 0);
  CHECK(mapped[2 * page] == 0 && mapped[3 * page] == 0);
  mapped[3 * page] = 'y';
  CHECK_EQ(pread(file, got, 1, 3 * page), 1);
  CHECK_EQ(got[0], 'y');
  CHECK_EQ(munmap(mapped, 4 * page), 0);
  CHECK_EQ(close(file), 0);
}

void check_allocation() {
  const int file = memory_file(0);
  CHECK_EQ(allocate(file, keep_size, 0, 2 * page), 0);
  CHECK_EQ(size_of(file), 0);
  CHECK_EQ(blocks_of(file), 2 * page / 512);
  CHECK_EQ(allocate(file, 0, page, 2 * page), 0);
  CHECK_EQ(size_of(file), 3 * page);
  CHECK_EQ(blocks_of(file), 3 * page / 512);
  CHECK_ERRNO(allocate(file, 0, -1, 1), EINVAL);
  CHECK_ERRNO(allocate(file, 0, 0, 0), EINVAL);
  CHECK_ERRNO(allocate(file, punch_hole, 0, page), EOPNOTSUPP);
  CHECK_ERRNO(allocate(file, zero_range, 0, page), EOPNOTSUPP);
  CHECK_ERRNO(allocate(file, collapse, 0, page), EOPNOTSUPP);
  CHECK_ERRNO(allocate(file, 0x1000, 0, page), EOPNOTSUPP);
  CHECK_ERRNO(allocate(file, 0, 0x7fffffffffffffff, 2), EFBIG);
  const int limited = open("/dev/shm/spacetest.file", O_CREAT | O_RDWR, 0600);
  CHECK_ERRNO(allocate(limited, 0, 0, 1L << 42), ENOSPC);
  CHECK_EQ(blocks_of(limited), 0);
  CHECK_EQ(unlink("/dev/shm/spacetest.file"), 0);
  close(limited);
  CHECK_EQ(blocks_of(file), 3 * page / 512);
  CHECK_ERRNO(allocate(-1, 0, -1, 0), EBADF);
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  CHECK_ERRNO(allocate(ends[1], 0, 0, page), ESPIPE);
  CHECK_ERRNO(allocate(ends[0], 0, 0, page), EBADF);
  CHECK_EQ(syscall(SYS_readahead, file, 0L, 100L), 0);
  CHECK_ERRNO(syscall(SYS_readahead, ends[0], 0L, 100L), EINVAL);
  CHECK_ERRNO(syscall(SYS_readahead, ends[1], 0L, 100L), EBADF);
  CHECK_ERRNO(syscall(SYS_fadvise64, ends[0], 0L, 0L, 99), ESPIPE);
  CHECK_ERRNO(syscall(SYS_fadvise64, file, 0L, 0L, 99), EINVAL);
  CHECK_ERRNO(syscall(SYS_fadvise64, file, 0L, -1L, 0), EINVAL);
  CHECK_EQ(syscall(SYS_fadvise64, file, 0L, 0L, 4), 0);
  CHECK_ERRNO(syscall(SYS_sync_file_range, file, 0L, 0L, 8), EINVAL);
  CHECK_ERRNO(syscall(SYS_sync_file_range, file, -1L, 0L, 0), EINVAL);
  CHECK_ERRNO(syscall(SYS_sync_file_range, ends[0], 0L, 0L, 0), ESPIPE);
  CHECK_EQ(syscall(SYS_sync_file_range, file, 0L, 0L, 7), 0);
  close(ends[0]);
  close(ends[1]);
  close(file);
}

void check_seals() {
  const int plain = memory_file(0);
  CHECK_EQ(fcntl(plain, F_GET_SEALS), seal_seal);
  CHECK_ERRNO(fcntl(plain, F_ADD_SEALS, seal_grow), EPERM);
  const int file = memory_file(sealable);
  CHECK_EQ(fcntl(file, F_GET_SEALS), 0);
  CHECK_EQ(write(file, block, 2 * page), 2 * page);
  CHECK_ERRNO(fcntl(file, F_ADD_SEALS, 0x4000), EINVAL);
  CHECK_EQ(fcntl(file, F_ADD_SEALS, seal_grow | seal_shrink), 0);
  CHECK_EQ(fcntl(file, F_GET_SEALS), seal_grow | seal_shrink);
  CHECK_ERRNO(ftruncate(file, page), EPERM);
  CHECK_ERRNO(ftruncate(file, 3 * page), EPERM);
  CHECK_EQ(ftruncate(file, 2 * page), 0);
  CHECK_ERRNO(pwrite(file, "x", 1, 2 * page), EPERM);
  CHECK_EQ(pwrite(file, "x", 1, page), 1);
  CHECK_ERRNO(allocate(file, 0, page, 2 * page), EPERM);
  CHECK_EQ(allocate(file, punch_hole | keep_size, 0, page), 0);
  auto* mapped = static_cast<char*>(mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  CHECK(mapped != MAP_FAILED);
  CHECK_ERRNO(fcntl(file, F_ADD_SEALS, seal_write), EBUSY);
  CHECK_EQ(fcntl(file, F_ADD_SEALS, seal_future_write), 0);
  mapped[0] = 'm';
  CHECK_ERRNO(write(file, "x", 1), EPERM);
  CHECK_EQ(munmap(mapped, page), 0);
  CHECK_EQ(fcntl(file, F_ADD_SEALS, seal_write | seal_seal), 0);
  CHECK_ERRNO(pwrite(file, "x", 1, 0), EPERM);
  CHECK_ERRNO(allocate(file, punch_hole | keep_size, 0, page), EPERM);
  CHECK_ERRNO(fcntl(file, F_ADD_SEALS, seal_grow), EPERM);
  CHECK(mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED && errno == EPERM);
  mapped = static_cast<char*>(mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0));
  CHECK(mapped != MAP_FAILED && mapped[0] == 'm');
  mapped[0] = 'n';
  char got = 0;
  CHECK_EQ(pread(file, &got, 1, 0), 1);
  CHECK_EQ(got, 'm');
  CHECK_EQ(munmap(mapped, page), 0);
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  CHECK_ERRNO(fcntl(ends[0], F_GET_SEALS), EINVAL);
  CHECK_ERRNO(fcntl(ends[0], F_ADD_SEALS, 0), EPERM);
  CHECK_ERRNO(fcntl(ends[1], F_ADD_SEALS, 0), EINVAL);
  char name[300];
  memset(name, 'n', sizeof name);
  name[249] = 0;
  const int longest = static_cast<int>(syscall(SYS_memfd_create, name, 0));
  CHECK(longest >= 0);
  name[249] = 'n';
  name[250] = 0;
  CHECK_ERRNO(syscall(SYS_memfd_create, name, 0), EINVAL);
  CHECK_ERRNO(syscall(SYS_memfd_create, "x", 0x4000), EINVAL);
  char path[64];
  char link[64] = {};
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  CHECK(readlink(path, link, sizeof link - 1) > 0);
  CHECK_EQ(strcmp(link, "/memfd:spacetest (deleted)"), 0);
  const int opened[] = {ends[0], ends[1], longest, file, plain};
  for (const int end : opened) close(end);
}

void check_unnamed() {
  CHECK_ERRNO(open("/dev/shm", O_TMPFILE | O_RDONLY, 0600), EINVAL);
  CHECK_ERRNO(open("/dev/shm", O_TMPFILE | O_RDWR | O_CREAT, 0600), EINVAL);
  CHECK_ERRNO(open("/dev/null", O_TMPFILE | O_RDWR, 0600), ENOTDIR);
  const int file = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
  CHECK(file >= 0);
  struct stat status;
  CHECK_EQ(fstat(file, &status), 0);
  CHECK_EQ(status.st_nlink, 0);
  CHECK_EQ(status.st_mode, S_IFREG | 0600);
  CHECK_EQ(fcntl(file, F_GETFL) & ~0100000, O_TMPFILE | O_RDWR);
  CHECK_EQ(write(file, "unnamed", 7), 7);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  unlink("/dev/shm/spacetest.named");
  CHECK_EQ(linkat(AT_FDCWD, path, AT_FDCWD, "/dev/shm/spacetest.named", AT_SYMLINK_FOLLOW), 0);
  CHECK_EQ(stat("/dev/shm/spacetest.named", &status), 0);
  CHECK(status.st_nlink == 1 && status.st_size == 7);
  CHECK_EQ(unlink("/dev/shm/spacetest.named"), 0);
  const int exclusive = open("/dev/shm", O_TMPFILE | O_RDWR | O_EXCL, 0600);
  CHECK(exclusive >= 0);
  snprintf(path, sizeof path, "/proc/self/fd/%d", exclusive);
  CHECK_ERRNO(linkat(AT_FDCWD, path, AT_FDCWD, "/dev/shm/spacetest.named", AT_SYMLINK_FOLLOW), ENOENT);
  const int removed = open("/dev/shm/spacetest.removed", O_CREAT | O_RDWR, 0600);
  CHECK_EQ(unlink("/dev/shm/spacetest.removed"), 0);
  snprintf(path, sizeof path, "/proc/self/fd/%d", removed);
  CHECK_ERRNO(linkat(AT_FDCWD, path, AT_FDCWD, "/dev/shm/spacetest.named", AT_SYMLINK_FOLLOW), ENOENT);
  const int opened[] = {file, exclusive, removed};
  for (const int end : opened) close(end);
}

struct How {
  uint64_t flags, mode, resolve;
};

int open_how(int directory, const char* path, uint64_t flags, uint64_t mode, uint64_t resolve, size_t size = sizeof(How)) {
  How how[2] = {{flags, mode, resolve}, {0, 0, 0}};
  return static_cast<int>(syscall(437, directory, path, how, size));
}

void check_restricted_walks() {
  constexpr uint64_t no_mounts = 1, no_magic = 2, no_links = 4, beneath = 8, in_root = 16, cached = 32;
  (void)mkdir("/dev/shm/spacetest.d", 0700);
  (void)mkdir("/dev/shm/spacetest.d/sub", 0700);
  unlink("/dev/shm/spacetest.d/out");
  unlink("/dev/shm/spacetest.d/absolute");
  unlink("/dev/shm/spacetest.d/good");
  CHECK_EQ(symlink("../../null", "/dev/shm/spacetest.d/out"), 0);
  CHECK_EQ(symlink("/sub", "/dev/shm/spacetest.d/absolute"), 0);
  CHECK_EQ(symlink("sub", "/dev/shm/spacetest.d/good"), 0);
  const int top = open("/dev/shm/spacetest.d", O_RDONLY | O_DIRECTORY);
  CHECK(top >= 0);
  CHECK_ERRNO(open_how(top, "sub", 0, 0, 64), EINVAL);
  CHECK_ERRNO(open_how(top, "sub", 0, 0, beneath | in_root), EINVAL);
  CHECK_ERRNO(open_how(top, "sub", 0, 0600, 0), EINVAL);
  CHECK_ERRNO(open_how(top, "sub", 1u << 31, 0, 0), EINVAL);
  CHECK_ERRNO(open_how(top, "sub", 0, 0, 0, 16), EINVAL);
  CHECK_ERRNO(open_how(top, "sub", 0, 0, 0, 5000), E2BIG);
  CHECK_ERRNO(open_how(top, "new", O_CREAT, 0600, cached), EAGAIN);
  CHECK(close(open_how(top, "sub", 0, 0, beneath, 2 * sizeof(How))) == 0);
  CHECK(close(open_how(top, "good", 0, 0, beneath)) == 0);
  CHECK(close(open_how(top, "sub/..", 0, 0, beneath)) == 0);
  CHECK_ERRNO(open_how(top, "..", 0, 0, beneath), EXDEV);
  CHECK_ERRNO(open_how(top, "sub/../..", 0, 0, beneath), EXDEV);
  CHECK_ERRNO(open_how(top, "/", 0, 0, beneath), EXDEV);
  CHECK_ERRNO(open_how(top, "out", 0, 0, beneath), EXDEV);
  CHECK_ERRNO(open_how(top, "absolute", 0, 0, beneath), EXDEV);
  CHECK(close(open_how(top, "absolute", 0, 0, in_root)) == 0);
  CHECK(close(open_how(top, "/sub", 0, 0, in_root)) == 0);
  CHECK(close(open_how(top, "../../../sub", 0, 0, in_root)) == 0);
  CHECK_ERRNO(open_how(top, "out", 0, 0, in_root), ENOENT);
  CHECK_ERRNO(open_how(top, "good", 0, 0, no_links), ELOOP);
  CHECK(close(open_how(top, "sub", 0, 0, no_links)) == 0);
  CHECK_ERRNO(open_how(AT_FDCWD, "/proc/self/fd/0", O_RDONLY, 0, no_magic), ELOOP);
  CHECK_ERRNO(open_how(AT_FDCWD, "/proc/version", 0, 0, no_mounts), EXDEV);
  CHECK(close(open_how(top, "sub", 0, 0, no_mounts)) == 0);
  close(top);
}

void check_appending() {
  const int file = open("/dev/shm/spacetest.append", O_CREAT | O_TRUNC | O_RDWR, 0600);
  CHECK_EQ(write(file, "0123456789", 10), 10);
  struct iovec piece = {const_cast<char*>("end"), 3};
  constexpr int append = 0x10;
  CHECK_EQ(lseek(file, 2, SEEK_SET), 2);
  CHECK_EQ(syscall(SYS_pwritev2, file, &piece, 1, 4L, 0L, append), 3);
  CHECK_EQ(lseek(file, 0, SEEK_CUR), 2);
  CHECK_EQ(syscall(SYS_pwritev2, file, &piece, 1, -1L, 0L, append), 3);
  CHECK_EQ(lseek(file, 0, SEEK_CUR), 16);
  CHECK_EQ(size_of(file), 16);
  CHECK_EQ(syscall(SYS_pwritev2, file, &piece, 1, 0L, 0L, 0x6), 3);
  CHECK_ERRNO(syscall(SYS_pwritev2, file, &piece, 1, -2L, 0L, 0), EINVAL);
  CHECK_ERRNO(syscall(SYS_pwritev2, file, &piece, 1, 0L, 0L, 0x4000), EOPNOTSUPP);
  char got[16];
  CHECK_EQ(pread(file, got, 16, 0), 16);
  CHECK_EQ(memcmp(got, "end3456789endend", 16), 0);
  CHECK_EQ(unlink("/dev/shm/spacetest.append"), 0);
  close(file);
}

// The words of struct statx that are looked at: mask, attributes and which of them are known, the mount.
struct Told {
  uint64_t attributes, known, mount;
  uint32_t mask;
};

Told tell(const char* path) {
  uint64_t words[32] = {};
  CHECK_EQ(syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0x17ff, words), 0);
  return {words[1], words[7], words[18], static_cast<uint32_t>(words[0])};
}

void check_mounts() {
  constexpr uint64_t mount_root = 0x2000;
  const Told root = tell("/dev"), inside = tell("/dev/null"), other = tell("/proc");
  CHECK_EQ(inside.mask & 0x17ff, 0x17ff);
  CHECK((root.known & mount_root) != 0 && (root.attributes & mount_root) != 0);
  CHECK((inside.known & mount_root) != 0 && (inside.attributes & mount_root) == 0);
  CHECK(root.mount == inside.mount && root.mount != other.mount);
}

void check_attributes() {
  CHECK_ERRNO(syscall(SYS_setxattr, "/dev/shm/no such file", "user.x", "v", 1L, 0), ENOENT);
  CHECK_ERRNO(syscall(SYS_fsetxattr, -1, "user.x", "v", 1L, 0), EBADF);
  CHECK_ERRNO(syscall(SYS_setxattr, "/dev/shm", "user.x", "v", 1L, 99), EINVAL);
  CHECK_ERRNO(syscall(SYS_setxattr, "/dev/shm", "", "v", 1L, 0), ERANGE);
  CHECK_ERRNO(syscall(SYS_setxattr, "/dev/shm", "user.x", "v", 65537L, 0), E2BIG);
  CHECK_ERRNO(syscall(SYS_setxattr, "/dev/shm", 1L, "v", 1L, 0), EFAULT);
  CHECK_ERRNO(syscall(SYS_getxattr, "/dev/shm", "nonsense", block, 1L), EOPNOTSUPP);
  CHECK_EQ(syscall(SYS_listxattr, "/dev/shm", nullptr, 0L), 0);
  CHECK_ERRNO(syscall(SYS_name_to_handle_at, AT_FDCWD, "/no such file", block, block, 0), ENOENT);
  CHECK_ERRNO(syscall(SYS_name_to_handle_at, AT_FDCWD, "/dev/shm", block, block, 1), EINVAL);
  const struct timespec omitted[2] = {{0, 0x3ffffffe}, {0, 0x3ffffffe}};
  CHECK_EQ(syscall(SYS_utimensat, -5, "no such file", omitted, 0x7777), 0);
  CHECK_ERRNO(syscall(SYS_utimensat, AT_FDCWD, nullptr, nullptr, 0), EFAULT);
  CHECK_ERRNO(syscall(SYS_utimensat, 0, nullptr, nullptr, AT_SYMLINK_NOFOLLOW), EINVAL);
  CHECK_ERRNO(syscall(SYS_utimensat, -5, nullptr, nullptr, 0), EBADF);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("spacetest", argc, argv);
  check_holes();
  check_allocation();
  check_seals();
  check_unnamed();
  check_restricted_walks();
  check_appending();
  check_attributes();
  check_mounts();
  return check_done();
}
