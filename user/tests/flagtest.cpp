// Flags of files as chattr sets them: immutable and append-only files and directories, who may set them, what is inherited, what statx tells;
// and requests of ioctl about a file's blocks. usage: flagtest [EFFORT]; as root. DIRECTORY in the environment: where, instead of on a tmpfs.
// LEFT: only makes this file, append-only, and leaves it.
#include "tests/users.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

namespace {

// Source: Linux uapi linux/fs.h.
constexpr unsigned long FS_IOC_GETFLAGS = 0x80086601, FS_IOC_SETFLAGS = 0x40086602, FIGETBSZ = 2, FICLONE = 0x40049409,
                        FICLONERANGE = 0x4020940d;
constexpr int FS_SYNC_FL = 8, FS_IMMUTABLE_FL = 0x10, FS_APPEND_FL = 0x20, FS_NODUMP_FL = 0x40, FS_NOATIME_FL = 0x80;
struct file_clone_range {
  int64_t from;
  uint64_t start, length, to;
};

char top[200];
bool in_memory;

int flags_of(const char* name) {
  const int file = open(name, O_RDONLY);
  CHECK(file >= 0);
  int flags = -1;
  CHECK_EQ(ioctl(file, FS_IOC_GETFLAGS, &flags), 0);
  CHECK_EQ(close(file), 0);
  return flags;
}

int try_flags(const char* name, int flags) {
  const int file = open(name, O_RDONLY);
  CHECK(file >= 0);
  const int result = ioctl(file, FS_IOC_SETFLAGS, &flags);
  const int error = errno;
  CHECK_EQ(close(file), 0);
  errno = error;
  return result;
}

void make_file(const char* name) {
  const int file = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
  CHECK(file >= 0);
  CHECK_EQ(write(file, "text", 4), 4);
  CHECK_EQ(close(file), 0);
}

struct Told {
  uint64_t flags, mask;
};

Told told(const char* name) {
  struct {  // struct statx, which not every C library has
    uint32_t mask, block_size;
    uint64_t attributes;
    uint32_t links, user, group;
    uint16_t mode, spare;
    uint64_t inode, size, blocks, attributes_mask, others[24];
  } answer;
  CHECK_EQ(syscall(SYS_statx, AT_FDCWD, name, 0, 0x7ff, &answer), 0);
  return {answer.attributes, answer.attributes_mask};
}

void check_setting() {
  make_file("file");
  CHECK_EQ(flags_of("file"), 0);
  const int each[] = {FS_IMMUTABLE_FL, FS_APPEND_FL, FS_NODUMP_FL};
  for (const int flag : each) {
    CHECK_EQ(told("file").mask & static_cast<unsigned>(flag), flag);
    CHECK_EQ(try_flags("file", flag), 0);
    CHECK_EQ(flags_of("file"), flag);
    CHECK_EQ(told("file").flags & (FS_IMMUTABLE_FL | FS_APPEND_FL | FS_NODUMP_FL), flag);
  }
  const int file = open("file", O_RDONLY);
  CHECK_ERRNO(ioctl(file, FS_IOC_SETFLAGS, nullptr), EFAULT);
  CHECK_ERRNO(ioctl(file, FS_IOC_GETFLAGS, nullptr), EFAULT);
  CHECK_EQ(close(file), 0);
  if (in_memory) CHECK_ERRNO(try_flags("file", FS_SYNC_FL), EOPNOTSUPP);
  CHECK_EQ(try_flags("file", FS_NODUMP_FL | FS_NOATIME_FL), 0);
  users::in_child([] {  // who owns it may change others, but not those that protect it
    CHECK_EQ(chown("file", users::alice, users::staff), 0);
    users::become(users::alice, users::staff);
    CHECK_ERRNO(try_flags("file", FS_APPEND_FL), EPERM);
    CHECK_EQ(try_flags("file", FS_NODUMP_FL), 0);
  });
  users::in_child([] {
    users::become(users::bob, users::staff);
    CHECK_EQ(flags_of("file"), FS_NODUMP_FL);
    CHECK_ERRNO(try_flags("file", 0), EPERM);
  });
  const int null = open("/dev/null", O_RDWR);
  int flags = 0;
  CHECK_ERRNO(ioctl(null, FS_IOC_GETFLAGS, &flags), ENOTTY);
  CHECK_EQ(close(null), 0);
  CHECK_EQ(unlink("file"), 0);
}

void check_immutable() {
  make_file("file");
  const int before = open("file", O_RDWR);
  CHECK_EQ(try_flags("file", FS_IMMUTABLE_FL), 0);
  CHECK_ERRNO(open("file", O_WRONLY), EPERM);
  CHECK_ERRNO(open("file", O_RDONLY | O_TRUNC), EPERM);
  CHECK_ERRNO(truncate("file", 0), EPERM);
  CHECK_ERRNO(access("file", W_OK), EPERM);
  CHECK_EQ(access("file", R_OK), 0);
  CHECK_ERRNO(unlink("file"), EPERM);
  CHECK_ERRNO(rename("file", "other"), EPERM);
  CHECK_ERRNO(link("file", "other"), EPERM);
  CHECK_ERRNO(chmod("file", 0600), EPERM);
  CHECK_ERRNO(chown("file", 0, 1), EPERM);
  CHECK_ERRNO(utimensat(AT_FDCWD, "file", nullptr, 0), EPERM);
  CHECK_ERRNO(setxattr("file", "trusted.a", "x", 1, 0), EPERM);
  CHECK_ERRNO(removexattr("file", "trusted.a"), EPERM);
  make_file("over");
  CHECK_ERRNO(rename("over", "file"), EPERM);
  CHECK_EQ(unlink("over"), 0);
  CHECK_EQ(write(before, "more", 4), 4);  // who has it open goes on
  CHECK_ERRNO(fallocate(before, 0, 0, 8192), EPERM);
  CHECK_ERRNO(fchmod(before, 0600), EPERM);
  CHECK_EQ(close(before), 0);
  CHECK_EQ(try_flags("file", 0), 0);
  CHECK_EQ(unlink("file"), 0);
}

void check_append_only() {
  make_file("file");
  const int reader = open("file", O_RDWR);
  CHECK_EQ(try_flags("file", FS_APPEND_FL), 0);
  CHECK_ERRNO(open("file", O_WRONLY), EPERM);
  CHECK_ERRNO(open("file", O_WRONLY | O_APPEND | O_TRUNC), EPERM);
  CHECK_ERRNO(truncate("file", 0), EPERM);
  CHECK_ERRNO(ftruncate(reader, 0), EPERM);
  CHECK_ERRNO(fcntl(reader, F_SETFL, O_APPEND), EPERM);
  CHECK_ERRNO(chmod("file", 0600), EPERM);
  CHECK_ERRNO(unlink("file"), EPERM);
  CHECK_ERRNO(link("file", "other"), EPERM);
  CHECK_EQ(utimensat(AT_FDCWD, "file", nullptr, 0), 0);
  const timespec times[2] = {{1, 0}, {2, 0}};
  CHECK_ERRNO(utimensat(AT_FDCWD, "file", times, 0), EPERM);
  CHECK(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, reader, 0) == MAP_FAILED && errno == EACCES);
  void* own = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, reader, 0);
  CHECK(own != MAP_FAILED);
  CHECK_EQ(munmap(own, 4096), 0);
  const int writer = open("file", O_WRONLY | O_APPEND);
  CHECK(writer >= 0);
  CHECK_EQ(write(writer, "more", 4), 4);
  CHECK_ERRNO(fcntl(writer, F_SETFL, 0), EPERM);
  CHECK_EQ(fcntl(writer, F_SETFL, O_APPEND | O_NONBLOCK), 0);
  char text[9] = {};
  CHECK_EQ(pread(reader, text, 8, 0), 8);
  CHECK_EQ(strcmp(text, "textmore"), 0);
  CHECK_EQ(close(writer), 0);
  CHECK_EQ(close(reader), 0);
  CHECK_EQ(try_flags("file", 0), 0);
  CHECK_EQ(unlink("file"), 0);
}

void check_directories() {
  CHECK_EQ(mkdir("d", 0755), 0);
  make_file("d/old");
  CHECK_EQ(try_flags("d", FS_IMMUTABLE_FL), 0);
  CHECK_ERRNO(open("d/new", O_CREAT | O_WRONLY, 0644), EPERM);
  CHECK_ERRNO(mkdir("d/new", 0755), EPERM);
  CHECK_ERRNO(symlink("x", "d/new"), EPERM);
  CHECK_ERRNO(unlink("d/old"), EPERM);
  CHECK_ERRNO(rename("d/old", "d/new"), EPERM);
  CHECK_ERRNO(rmdir("d"), EPERM);
  CHECK_EQ(truncate("d/old", 0), 0);  // the file itself is not protected
  CHECK_EQ(try_flags("d", FS_APPEND_FL), 0);
  make_file("d/new");
  CHECK_ERRNO(unlink("d/new"), EPERM);
  CHECK_ERRNO(rename("d/new", "d/newer"), EPERM);
  CHECK_EQ(try_flags("d", FS_NODUMP_FL | FS_NOATIME_FL), 0);
  make_file("d/inherits");
  CHECK_EQ(mkdir("d/below", 0755), 0);
  CHECK_EQ(flags_of("d/inherits"), FS_NODUMP_FL | FS_NOATIME_FL);
  CHECK_EQ(flags_of("d/below"), FS_NODUMP_FL | FS_NOATIME_FL);
  CHECK_EQ(try_flags("d", FS_IMMUTABLE_FL), 0);
  CHECK_EQ(try_flags("d", 0), 0);
  const char* const names[] = {"d/old", "d/new", "d/inherits"};
  for (const char* name : names) CHECK_EQ(unlink(name), 0);
  CHECK_EQ(rmdir("d/below"), 0);
  CHECK_EQ(rmdir("d"), 0);
}

// No file system here shares blocks between files.
void check_clones() {
  make_file("from");
  make_file("to");
  const int from = open("from", O_RDONLY);
  const int to = open("to", O_RDWR);
  const int appends = open("to", O_WRONLY | O_APPEND);
  const int directory = open(".", O_RDONLY);
  const int elsewhere = open("/proc/self/status", O_RDONLY);
  int size = 0;
  struct statvfs file_system;
  CHECK_EQ(fstatvfs(from, &file_system), 0);
  CHECK_EQ(ioctl(from, FIGETBSZ, &size), 0);
  CHECK_EQ(size, file_system.f_bsize);
  struct stat stat;
  CHECK_EQ(fstat(from, &stat), 0);
  CHECK_EQ(stat.st_blksize, size);
  CHECK_ERRNO(ioctl(to, FICLONE, -1), EBADF);
  CHECK_ERRNO(ioctl(to, FICLONE, elsewhere), EXDEV);
  CHECK_ERRNO(ioctl(to, FICLONE, directory), EISDIR);
  CHECK_ERRNO(ioctl(from, FICLONE, to), EBADF);
  CHECK_ERRNO(ioctl(appends, FICLONE, from), EBADF);
  CHECK_ERRNO(ioctl(to, FICLONE, from), EOPNOTSUPP);
  CHECK_ERRNO(ioctl(to, FICLONERANGE, nullptr), EFAULT);
  file_clone_range part = {from, 0, 4, 0};
  CHECK_ERRNO(ioctl(to, FICLONERANGE, &part), EOPNOTSUPP);
  const int files[] = {from, to, appends, directory, elsewhere};
  for (const int file : files) CHECK_EQ(close(file), 0);
  CHECK_EQ(unlink("from"), 0);
  CHECK_EQ(unlink("to"), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("flagtest", argc, argv);
  if (const char* left = getenv("LEFT")) {
    make_file(left);
    CHECK_EQ(try_flags(left, FS_APPEND_FL), 0);
    return check_done();
  }
  const char* where = getenv("DIRECTORY");
  in_memory = where == nullptr;
  snprintf(top, sizeof top, "%s/flagtest-%d", in_memory ? "/tmp" : where, getpid());
  CHECK_EQ(mkdir(top, 0755), 0);
  if (in_memory) CHECK_EQ(mount("none", top, "tmpfs", 0, "mode=755"), 0);
  CHECK_EQ(chdir(top), 0);
  umask(022);
  check_setting();
  check_immutable();
  check_append_only();
  check_directories();
  check_clones();
  CHECK_EQ(chdir("/"), 0);
  if (in_memory) CHECK_EQ(umount(top), 0);
  CHECK_EQ(rmdir(top), 0);
  return check_done();
}
