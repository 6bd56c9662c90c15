// Mounting: links that are not followed (MS_NOSYMFOLLOW), what is unmounted because nobody has gone there (MNT_EXPIRE), flags as statvfs and
// /proc/mounts tell them, wrong arguments; links of /proc that are no texts (RESOLVE_NO_MAGICLINKS). DISK in the environment, such as
// /dev/vda: also what ioctl tells and sets of that disk, which must hold an ext2 that is not mounted. usage: mounttest [EFFORT]; as root.
#include "tests/users.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

namespace {

#ifndef BLKPBSZGET
constexpr unsigned long BLKIOOPT = 0x1279, BLKPBSZGET = 0x127b;  // Linux uapi linux/fs.h
#endif
constexpr unsigned long no_links = 256;  // MS_NOSYMFOLLOW
constexpr long told_no_links = 0x2000;  // ST_NOSYMFOLLOW
char top[64];

bool mounts_tell(const char* options) {
  FILE* file = fopen("/proc/mounts", "r");
  CHECK(file != nullptr);
  char line[1024];
  bool found = false;
  while (fgets(line, sizeof line, file) != nullptr) {
    if (strstr(line, top) != nullptr && strstr(line, options) != nullptr) found = true;
  }
  CHECK_EQ(fclose(file), 0);
  return found;
}

void check_links() {
  CHECK_EQ(mount("none", top, "tmpfs", no_links | MS_NODEV, nullptr), 0);
  CHECK_EQ(chdir(top), 0);
  CHECK_EQ(close(open("file", O_CREAT | O_WRONLY, 0644)), 0);
  CHECK_EQ(mkdir("d", 0755), 0);
  CHECK_EQ(symlink("file", "link"), 0);
  CHECK_EQ(symlink("d", "way"), 0);
  CHECK_ERRNO(open("link", O_RDONLY), ELOOP);
  CHECK_ERRNO(chdir("way"), ELOOP);
  CHECK_ERRNO(open("way/x", O_CREAT | O_WRONLY, 0644), ELOOP);
  char text[10] = {};
  CHECK_EQ(readlink("link", text, sizeof text), 4);
  struct stat stat;
  CHECK_EQ(lstat("link", &stat), 0);
  CHECK_EQ(rename("link", "other"), 0);
  CHECK_EQ(unlink("other"), 0);
  struct statfs told;
  CHECK_EQ(statfs(".", &told), 0);
  CHECK_EQ(told.f_flags & (told_no_links | ST_NODEV | ST_NOEXEC), told_no_links | ST_NODEV);
  CHECK(mounts_tell("nodev") && mounts_tell("nosymfollow"));
  CHECK_EQ(mount(nullptr, top, nullptr, MS_REMOUNT | MS_NOATIME | MS_NODIRATIME, nullptr), 0);
  CHECK_EQ(chdir("way"), 0);
  CHECK_EQ(statfs(".", &told), 0);
  CHECK_EQ(told.f_flags & (told_no_links | ST_NODEV | ST_NOATIME | ST_NODIRATIME), ST_NOATIME | ST_NODIRATIME);
  CHECK(mounts_tell("noatime,nodiratime"));
  CHECK_EQ(chdir("/"), 0);
  CHECK_EQ(umount(top), 0);
}

void check_expiry() {
  CHECK_EQ(mount("none", top, "tmpfs", 0, nullptr), 0);
  CHECK_ERRNO(umount2(top, MNT_EXPIRE | MNT_FORCE), EINVAL);
  CHECK_ERRNO(umount2(top, MNT_EXPIRE | MNT_DETACH), EINVAL);
  CHECK_ERRNO(umount2("/proc/self", MNT_EXPIRE), EINVAL);
  CHECK_ERRNO(umount2(top, MNT_EXPIRE), EAGAIN);
  CHECK_EQ(access(top, F_OK), 0);
  CHECK_ERRNO(umount2(top, MNT_EXPIRE), EAGAIN);
  CHECK_EQ(umount2(top, MNT_EXPIRE), 0);
  CHECK_ERRNO(umount2(top, MNT_EXPIRE), EINVAL);
}

void check_arguments() {
  CHECK_ERRNO(mount("none", top, nullptr, 0, nullptr), EINVAL);
  CHECK_ERRNO(mount("none", top, "nonesuch", 0, nullptr), ENODEV);
  CHECK_ERRNO(mount("none", top, reinterpret_cast<const char*>(1), 0, nullptr), EFAULT);
  CHECK_ERRNO(mount(nullptr, top, nullptr, MS_REMOUNT, nullptr), EINVAL);
}

void check_magic() {
  struct {
    uint64_t flags, mode, resolve;
  } how = {O_PATH, 0, 2};  // RESOLVE_NO_MAGICLINKS
  const char* const names[] = {"/proc/self/exe", "/proc/self/cwd", "/proc/self/fd/0"};
  for (const char* name : names) { CHECK_ERRNO(syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof how), ELOOP); }
  const long usual = syscall(SYS_openat2, AT_FDCWD, "/proc/self/status", &how, sizeof how);
  CHECK(usual >= 0);
  CHECK_EQ(close(static_cast<int>(usual)), 0);
  struct stat by_link, by_name;
  char name[200] = {};
  CHECK(readlink("/proc/self/exe", name, sizeof name - 1) > 0);
  CHECK_EQ(stat("/proc/self/exe", &by_link), 0);
  CHECK_EQ(stat(name, &by_name), 0);
  CHECK_EQ(by_link.st_ino, by_name.st_ino);
}

void check_disk(const char* name) {
  const int disk = open(name, O_RDWR);
  CHECK(disk >= 0);
  unsigned long sectors = 0, ahead = 0;
  uint64_t bytes = 0;
  int logical = 0, cached = 0, read_only = -1;
  unsigned physical = 0, best = 1;
  CHECK_EQ(ioctl(disk, BLKGETSIZE, &sectors), 0);
  CHECK_EQ(ioctl(disk, BLKGETSIZE64, &bytes), 0);
  CHECK_EQ(bytes, sectors * 512);
  CHECK_EQ(ioctl(disk, BLKSSZGET, &logical), 0);
  CHECK_EQ(logical, 512);
  CHECK_EQ(ioctl(disk, BLKPBSZGET, &physical), 0);
  CHECK_EQ(physical, 512);
  CHECK_EQ(ioctl(disk, BLKBSZGET, &cached), 0);
  CHECK_EQ(cached, 4096);
  CHECK_EQ(ioctl(disk, BLKIOOPT, &best), 0);
  CHECK_EQ(best, 0);
  CHECK_EQ(ioctl(disk, BLKRASET, 512), 0);
  CHECK_EQ(ioctl(disk, BLKRAGET, &ahead), 0);
  CHECK_EQ(ahead, 512);
  CHECK_ERRNO(ioctl(disk, BLKRAGET, nullptr), EINVAL);
  CHECK_ERRNO(ioctl(disk, BLKROSET, nullptr), EFAULT);
  char sector[512];
  CHECK_EQ(pread(disk, sector, sizeof sector, 0), static_cast<ssize_t>(sizeof sector));
  CHECK_EQ(ioctl(disk, BLKROGET, &read_only), 0);
  CHECK_EQ(read_only, 0);
  int on = 1;
  CHECK_EQ(ioctl(disk, BLKROSET, &on), 0);
  CHECK_EQ(ioctl(disk, BLKROGET, &read_only), 0);
  CHECK_EQ(read_only, 1);
  CHECK_ERRNO(pwrite(disk, sector, sizeof sector, 0), EPERM);
  CHECK_ERRNO(mount(name, top, "ext2", 0, nullptr), EACCES);
  CHECK_EQ(mount(name, top, "ext2", MS_RDONLY, nullptr), 0);
  CHECK_EQ(umount(top), 0);
  users::in_child([disk] {
    users::become(users::alice, users::staff);
    int off = 0;
    CHECK_ERRNO(ioctl(disk, BLKROSET, &off), EACCES);
    CHECK_ERRNO(ioctl(disk, BLKRASET, 0), EACCES);
  });
  on = 0;
  CHECK_EQ(ioctl(disk, BLKROSET, &on), 0);
  CHECK_EQ(pwrite(disk, sector, sizeof sector, 0), static_cast<ssize_t>(sizeof sector));
  CHECK_EQ(close(disk), 0);
  // One that was only read is gone when it is detached, so that it can be mounted otherwise at once.
  for (int round = 0; round < 10; ++round) {
    CHECK_EQ(mount(name, top, "ext2", MS_RDONLY, nullptr), 0);
    CHECK_EQ(umount2(top, MNT_DETACH), 0);
    CHECK_EQ(mount(name, top, "ext2", 0, nullptr), 0);
    CHECK_EQ(umount(top), 0);
  }
}

// What stands for something else has a kind and no sizes, so that df leaves it out.
void check_kinds() {
  struct Kind {
    const char* path;
    long type;
    bool has_sizes;
  };
  constexpr Kind kinds[] = {{"/dev", 0x01021994, true},
                            {"/dev/pts", 0x1cd1, false},
                            {"/dev/mqueue", 0x19800202, false},
                            {"/proc", 0x9fa0, false},
                            {"/sys", 0x62656572, false}};
  for (const Kind& kind : kinds) {
    struct statfs told = {};
    CHECK_EQ(statfs(kind.path, &told), 0);
    CHECK_EQ(told.f_type, kind.type);
    CHECK_EQ(told.f_blocks != 0, kind.has_sizes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("mounttest", argc, argv);
  snprintf(top, sizeof top, "/tmp/mounttest-%d", getpid());
  CHECK_EQ(mkdir(top, 0755), 0);
  check_links();
  check_expiry();
  check_arguments();
  check_magic();
  check_kinds();
  if (const char* disk = getenv("DISK")) check_disk(disk);
  CHECK_EQ(rmdir(top), 0);
  return check_done();
}
