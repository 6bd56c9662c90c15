// Names: of the machine (uname, sethostname, setdomainname), in a directory by the old call getdents, and what becoming of them does to
// a file's time of change.

#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

namespace {

void store(const char* path, const char* text) {
  const int file = open(path, O_WRONLY);
  CHECK(file >= 0);
  CHECK_EQ(write(file, text, strlen(text)), strlen(text));
  CHECK_EQ(close(file), 0);
}

void test_names_of_the_machine() {
  // Linux changes those of a namespace of our own, so that the machine keeps its names.
  (void)syscall(SYS_unshare, 0x0400'0000);  // CLONE_NEWUTS
  utsname before;
  utsname now;
  CHECK_EQ(uname(&before), 0);
  CHECK_EQ(sethostname("a-host", 6), 0);
  CHECK_EQ(setdomainname("a.domain", 8), 0);
  CHECK_EQ(uname(&now), 0);
  CHECK(strcmp(now.nodename, "a-host") == 0);
  CHECK(strcmp(now.domainname, "a.domain") == 0);
  store("/proc/sys/kernel/hostname", "another\n");
  CHECK_EQ(uname(&now), 0);
  CHECK(strcmp(now.nodename, "another") == 0);
  CHECK_ERRNO(sethostname("", static_cast<size_t>(-1)), EINVAL);
  CHECK_ERRNO(sethostname(now.nodename, 65), EINVAL);
  CHECK_ERRNO(sethostname(reinterpret_cast<const char*>(8), 5), EFAULT);
  char longest[64];
  memset(longest, 'x', sizeof longest);
  CHECK_EQ(sethostname(longest, sizeof longest), 0);
  CHECK_EQ(uname(&now), 0);
  CHECK_EQ(strlen(now.nodename), sizeof longest);
  CHECK_EQ(sethostname("", 0), 0);
  CHECK_EQ(uname(&now), 0);
  CHECK_EQ(strlen(now.nodename), 0);
  CHECK_EQ(sethostname(before.nodename, strlen(before.nodename)), 0);
  CHECK_EQ(setdomainname(before.domainname, strlen(before.domainname)), 0);
}

struct OldEntry {  // struct linux_dirent; the type is in the record's last byte
  unsigned long inode, next;
  unsigned short size;
  char name[];
};

void test_getdents() {
  char directory[] = "/tmp/nametest-XXXXXX";
  CHECK(mkdtemp(directory) != nullptr);
  CHECK_EQ(chdir(directory), 0);
  CHECK_EQ(mkdir("below", 0700), 0);
  const int file = open("file", O_CREAT | O_RDWR, 0600);
  CHECK(file >= 0);
  const int open_directory = open(".", O_RDONLY | O_DIRECTORY);
  CHECK(open_directory >= 0);
  struct stat below;
  CHECK_EQ(stat("below", &below), 0);
  alignas(8) char buffer[1024];
  CHECK_ERRNO(syscall(SYS_getdents, open_directory, buffer, 8), EINVAL);
  const long size = syscall(SYS_getdents, open_directory, buffer, sizeof buffer);
  CHECK(size > 0);
  int found = 0;
  for (long at = 0; at < size;) {
    const auto* entry = reinterpret_cast<const OldEntry*>(buffer + at);
    const char type = buffer[at + entry->size - 1];
    if (strcmp(entry->name, "below") == 0) {
      CHECK_EQ(type, DT_DIR);
      CHECK_EQ(entry->inode, below.st_ino);
    }
    if (strcmp(entry->name, "file") == 0) { CHECK_EQ(type, DT_REG); }
    ++found;
    at += entry->size;
  }
  CHECK_EQ(found, 4);
  CHECK_EQ(syscall(SYS_getdents, open_directory, buffer, sizeof buffer), 0);
  CHECK_ERRNO(syscall(SYS_getdents, file, buffer, sizeof buffer), ENOTDIR);
  CHECK_ERRNO(syscall(SYS_getdents, -1, buffer, sizeof buffer), EBADF);
  CHECK_EQ(close(file), 0);
  CHECK_EQ(close(open_directory), 0);
  CHECK_EQ(unlink("file"), 0);
  const int removed = open("below", O_RDONLY | O_DIRECTORY);
  CHECK(removed >= 0);
  CHECK_EQ(rmdir("below"), 0);
  CHECK_ERRNO(syscall(SYS_getdents64, removed, buffer, sizeof buffer), ENOENT);
  struct stat gone;
  CHECK_EQ(fstat(removed, &gone), 0);
  CHECK_EQ(gone.st_nlink, 0);
  CHECK_EQ(close(removed), 0);
  CHECK_EQ(chdir("/"), 0);
  CHECK_EQ(rmdir(directory), 0);
}

// The file has changed since the last call.
void check_change(int file, timespec& last) {
  struct stat status;
  CHECK_EQ(fstat(file, &status), 0);
  const timespec& now = status.st_ctim;
  CHECK(now.tv_sec > last.tv_sec || (now.tv_sec == last.tv_sec && now.tv_nsec > last.tv_nsec));
  last = now;
  check_sleep_us(20'000);  // Linux's times move by ticks
}

// Who gets a name, another one, or loses one has changed, though not its contents.
void test_times_of_change() {
  char directory[] = "/tmp/names.XXXXXX";
  CHECK(mkdtemp(directory) != nullptr && chdir(directory) == 0);
  const int file = open("one", O_RDWR | O_CREAT, 0600);
  const int other = open("other", O_RDWR | O_CREAT, 0600);
  CHECK(file >= 0 && other >= 0);
  struct stat before;
  struct stat after;
  timespec last = {};
  timespec others = {};
  CHECK_EQ(fstat(file, &before), 0);
  check_change(file, last);
  check_change(other, others);
  CHECK_EQ(link("one", "two"), 0);
  check_change(file, last);
  CHECK_EQ(rename("two", "three"), 0);
  check_change(file, last);
  CHECK_EQ(syscall(SYS_renameat2, AT_FDCWD, "three", AT_FDCWD, "other", 2), 0);  // RENAME_EXCHANGE
  check_change(file, last);
  check_change(other, others);
  CHECK_EQ(rename("three", "other"), 0);  // in the place of `file`'s second name
  check_change(file, last);
  CHECK_EQ(unlink("one"), 0);
  check_change(file, last);
  CHECK_EQ(fstat(file, &after), 0);
  CHECK(after.st_nlink == 0 && after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
        after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
  CHECK(close(file) == 0 && close(other) == 0 && unlink("other") == 0 && chdir("/") == 0 && rmdir(directory) == 0);
}

// A working directory outside of the root directory has no path.
void test_unreachable_directory() {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    char text[256];
    CHECK_EQ(chdir("/proc"), 0);
    CHECK_EQ(syscall(SYS_getcwd, text, sizeof text), 6);
    CHECK_EQ(chroot("/tmp"), 0);
    const char expected[] = "(unreachable)/proc";
    const char* const shown = text;
    CHECK(syscall(SYS_getcwd, text, sizeof text) > 0);
    CHECK(strncmp(shown, expected, 13) == 0);
    CHECK(getcwd(text, sizeof text) == nullptr && errno == ENOENT);
    _exit(0);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("nametest", argc, argv);
  test_names_of_the_machine();
  test_getdents();
  test_times_of_change();
  test_unreachable_directory();
  return check_done();
}
