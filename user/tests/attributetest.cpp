// Extended attributes: namespaces and who may use them, sizes, lists, flags and errors, links, what is told of changes; many threads.
// usage: attributetest [EFFORT]; as root, on Linux 6.6 or later (before that a tmpfs has no attributes of users). DIRECTORY in the
// environment: where, instead of on a tmpfs; it may be on a file system that has a block of at most 4 KiB for all attributes of a file.
// GIVEN: only a file with attributes that another system has set.
#include "tests/users.h"

#include <pthread.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

namespace {

using users::alice;
using users::become;
using users::bob;
using users::in_child;

char top[200];
bool in_memory;
constexpr size_t longest_name = 255, longest_value = 65536;
char block[longest_value + 1];

void make_file(const char* name, unsigned mode) {
  const int file = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
  CHECK(file >= 0);
  CHECK_EQ(fchmod(file, mode), 0);
  CHECK_EQ(close(file), 0);
}

void expect_value(const char* name, const char* attribute, const char* value) {
  const auto size = static_cast<ssize_t>(strlen(value));
  CHECK_EQ(getxattr(name, attribute, nullptr, 0), size);
  memset(block, 0x55, 100);
  CHECK_EQ(getxattr(name, attribute, block, 100), size);
  CHECK_EQ(memcmp(block, value, static_cast<size_t>(size)), 0);
  CHECK_EQ(block[size], 0x55);
}

// Whether the list of names has this one.
bool listed(const char* name, const char* attribute) {
  const ssize_t size = listxattr(name, block, sizeof block);
  CHECK(size >= 0);
  for (ssize_t at = 0; at < size; at += static_cast<ssize_t>(strlen(block + at)) + 1) {
    if (strcmp(block + at, attribute) == 0) return true;
  }
  return false;
}

void check_values() {
  make_file("file", 0644);
  CHECK_EQ(listxattr("file", nullptr, 0), 0);
  CHECK_EQ(listxattr("file", block, sizeof block), 0);
  CHECK_ERRNO(getxattr("file", "user.a", block, 10), ENODATA);
  CHECK_ERRNO(removexattr("file", "user.a"), ENODATA);
  CHECK_ERRNO(setxattr("file", "user.a", "one", 3, XATTR_REPLACE), ENODATA);
  CHECK_ERRNO(setxattr("file", "user.a", "one", 3, XATTR_REPLACE | XATTR_CREATE), ENODATA);
  CHECK_EQ(setxattr("file", "user.a", "one", 3, XATTR_CREATE), 0);
  expect_value("file", "user.a", "one");
  CHECK_ERRNO(setxattr("file", "user.a", "two", 3, XATTR_CREATE), EEXIST);
  CHECK_ERRNO(setxattr("file", "user.a", "two", 3, XATTR_REPLACE | XATTR_CREATE), EEXIST);
  CHECK_EQ(setxattr("file", "user.a", "longer", 6, XATTR_REPLACE), 0);
  expect_value("file", "user.a", "longer");
  CHECK_ERRNO(getxattr("file", "user.a", block, 5), ERANGE);
  CHECK_EQ(setxattr("file", "user.a", "x", 1, 0), 0);
  expect_value("file", "user.a", "x");
  CHECK_EQ(setxattr("file", "user.none", nullptr, 0, 0), 0);
  expect_value("file", "user.none", "");
  CHECK(listed("file", "user.a") && listed("file", "user.none") && !listed("file", "user.b"));
  constexpr ssize_t both = sizeof "user.a" + sizeof "user.none";
  CHECK_EQ(listxattr("file", nullptr, 0), both);
  CHECK_EQ(listxattr("file", block, both), both);
  CHECK_ERRNO(listxattr("file", block, both - 1), ERANGE);
  CHECK_EQ(removexattr("file", "user.none"), 0);
  CHECK_ERRNO(getxattr("file", "user.none", block, 10), ENODATA);
  // By descriptor, and of a file that has no name any more.
  const int file = open("file", O_RDONLY);
  CHECK(file >= 0);
  CHECK_EQ(fsetxattr(file, "user.f", "value", 5, 0), 0);
  CHECK_EQ(unlink("file"), 0);
  CHECK_EQ(fgetxattr(file, "user.f", block, 10), 5);
  CHECK_EQ(flistxattr(file, block, sizeof block), sizeof "user.a" + sizeof "user.f");
  CHECK_EQ(fremovexattr(file, "user.f"), 0);
  CHECK_ERRNO(fgetxattr(file, "user.f", block, 10), ENODATA);
  CHECK_EQ(close(file), 0);
}

// What does not fit into a block changes nothing, and what is removed makes room.
void check_block_limits(size_t big) {
  struct statvfs s = {};
  CHECK_EQ(statvfs("file", &s), 0);
  CHECK_EQ(setxattr("file", "user.huge", block, s.f_bsize + 1, 0), -1);
  CHECK(errno == ERANGE ||
        errno == ENOSPC);  // of Linux's two drivers for ext2 the older one, and Corral, say that it never fits
  CHECK_ERRNO(setxattr("file", "user.huge", block, s.f_bsize, 0), ENOSPC);
  CHECK_ERRNO(setxattr("file", "user.big", block, s.f_bsize, XATTR_REPLACE), ENOSPC);
  CHECK_EQ(getxattr("file", "user.big", nullptr, 0), big);
  char name[32];
  for (int round = 0; round < 2; ++round) {
    int taken = 0;
    for (; taken < 1000; ++taken) {
      snprintf(name, sizeof name, "user.%d", taken);
      if (setxattr("file", name, name, 6, 0) == 0) continue;
      CHECK_EQ(errno, ENOSPC);
      break;
    }
    CHECK(taken >= 2 && taken < 1000);
    CHECK_EQ(getxattr("file", "user.1", block, sizeof block), 6);
    CHECK_EQ(memcmp(block, "user.1", 6), 0);
    while (--taken >= 0) {
      snprintf(name, sizeof name, "user.%d", taken);
      CHECK_EQ(removexattr("file", name), 0);
    }
  }
}

void check_limits() {
  make_file("file", 0644);
  char name[longest_name + 2] = "user.";
  memset(name + 5, 'n', longest_name - 5);
  CHECK_EQ(setxattr("file", name, "v", 1, 0), 0);
  expect_value("file", name, "v");
  CHECK(listed("file", name));
  CHECK_EQ(removexattr("file", name), 0);
  name[longest_name] = 'n';
  CHECK_ERRNO(setxattr("file", name, "v", 1, 0), ERANGE);
  CHECK_ERRNO(getxattr("file", name, block, 1), ERANGE);
  CHECK_ERRNO(removexattr("file", name), ERANGE);
  CHECK_ERRNO(setxattr("file", "", "v", 1, 0), ERANGE);
  for (size_t i = 0; i < longest_value; ++i) block[i] = static_cast<char>(i % 251);
  CHECK_ERRNO(setxattr("file", "user.big", block, longest_value + 1, 0), E2BIG);
  const size_t big = in_memory ? longest_value : 800;
  CHECK_EQ(setxattr("file", "user.big", block, big, 0), 0);
  memset(block, 0, sizeof block);
  CHECK_EQ(getxattr("file", "user.big", block, sizeof block), big);
  for (size_t i = 0; i < big; ++i) {
    if (block[i] != static_cast<char>(i % 251)) CHECK_EQ(i, -1);
  }
  if (!in_memory) check_block_limits(big);
  CHECK_ERRNO(setxattr("file", "user.x", "v", 1, 4), EINVAL);
  CHECK_ERRNO(setxattr("file", "user.x", reinterpret_cast<void*>(8), 1, 0), EFAULT);
  CHECK_ERRNO(setxattr("file", reinterpret_cast<char*>(8), "v", 1, 0), EFAULT);
  CHECK_ERRNO(getxattr("file", "user.big", reinterpret_cast<void*>(8), big), EFAULT);
  CHECK_ERRNO(listxattr("file", reinterpret_cast<char*>(8), 100), EFAULT);
  CHECK_ERRNO(setxattr("missing", "user.x", "v", 1, 0), ENOENT);
  CHECK_ERRNO(fsetxattr(-1, "user.x", "v", 1, 0), EBADF);
  const int name_only = open("file", O_PATH);
  CHECK_ERRNO(fgetxattr(name_only, "user.big", block, 1), EBADF);
  CHECK_EQ(close(name_only), 0);
  CHECK_EQ(unlink("file"), 0);
}

void check_namespaces() {
  make_file("file", 0644);
  CHECK_EQ(mkdir("directory", 0755), 0);
  CHECK_EQ(symlink("file", "link"), 0);
  CHECK_EQ(mkfifo("fifo", 0600), 0);
  constexpr const char *unknown[] = {"nonsense", "user", "system.x", "other.x"}, *empty[] = {"user.", "trusted.", "security."};
  for (const char* name : unknown) {
    CHECK_ERRNO(setxattr("file", name, "v", 1, 0), EOPNOTSUPP);
    CHECK_ERRNO(getxattr("file", name, block, 1), EOPNOTSUPP);
    CHECK_ERRNO(removexattr("file", name), EOPNOTSUPP);
  }
  for (const char* name : empty) {
    CHECK_ERRNO(setxattr("file", name, "v", 1, 0), EINVAL);
    CHECK_ERRNO(getxattr("file", name, block, 1), EINVAL);
  }
  // Users' are of regular files and directories; a link leads to its file, or is meant itself.
  CHECK_EQ(setxattr("directory", "user.d", "v", 1, 0), 0);
  expect_value("directory", "user.d", "v");
  CHECK_EQ(setxattr("link", "user.l", "v", 1, 0), 0);
  expect_value("file", "user.l", "v");
  CHECK_ERRNO(lsetxattr("link", "user.l", "v", 1, 0), EPERM);
  CHECK_ERRNO(lgetxattr("link", "user.l", block, 1), ENODATA);
  CHECK_ERRNO(lremovexattr("link", "user.l"), EPERM);
  CHECK_EQ(lsetxattr("link", "trusted.l", "own", 3, 0), 0);
  CHECK_EQ(lgetxattr("link", "trusted.l", block, 10), 3);
  CHECK_EQ(llistxattr("link", block, sizeof block), sizeof "trusted.l");
  CHECK_ERRNO(getxattr("link", "trusted.l", block, 10), ENODATA);
  CHECK_EQ(lremovexattr("link", "trusted.l"), 0);
  CHECK_ERRNO(setxattr("fifo", "user.x", "v", 1, 0), EPERM);
  CHECK_ERRNO(getxattr("fifo", "user.x", block, 1), ENODATA);
  CHECK_EQ(setxattr("fifo", "trusted.x", "v", 1, 0), 0);
  // Where there are none.
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  CHECK_ERRNO(fsetxattr(ends[0], "user.x", "v", 1, 0), EPERM);
  CHECK_ERRNO(fgetxattr(ends[0], "user.x", block, 1), ENODATA);
  CHECK_ERRNO(fsetxattr(ends[0], "trusted.x", "v", 1, 0), EOPNOTSUPP);
  CHECK_EQ(flistxattr(ends[0], block, sizeof block), 0);
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
  CHECK_ERRNO(getxattr("/proc/version", "user.x", block, 1), EOPNOTSUPP);
  CHECK_EQ(listxattr("/proc/version", block, sizeof block), 0);
  CHECK_EQ(unlink("file") | unlink("link") | unlink("fifo"), 0);
  CHECK_EQ(rmdir("directory"), 0);
}

void check_rights() {
  make_file("file", 0644);
  CHECK_EQ(chown("file", alice, alice), 0);
  CHECK_EQ(mkdir("shared", 01777), 0);
  CHECK_EQ(chmod("shared", 01777), 0);
  CHECK_EQ(setxattr("file", "trusted.t", "v", 1, 0), 0);
  CHECK_EQ(setxattr("file", "security.s", "v", 1, 0), 0);
  CHECK(listed("file", "trusted.t") && listed("file", "security.s"));
  in_child([] {
    become(alice, alice);
    CHECK_EQ(setxattr("file", "user.a", "v", 1, 0), 0);
    CHECK_ERRNO(getxattr("file", "trusted.t", block, 10), ENODATA);
    CHECK_ERRNO(setxattr("file", "trusted.t", "w", 1, 0), EPERM);
    CHECK_ERRNO(removexattr("file", "trusted.t"), EPERM);
    CHECK(!listed("file", "trusted.t") && listed("file", "user.a") && listed("file", "security.s"));
    CHECK_EQ(getxattr("file", "security.s", block, 10), 1);
    CHECK_ERRNO(setxattr("file", "security.s", "w", 1, 0), EPERM);
    CHECK_ERRNO(removexattr("file", "security.s"), EPERM);
    CHECK_ERRNO(setxattr("shared", "user.x", "v", 1, 0), EPERM);  // a sticky directory's are its owner's
  });
  in_child([] {
    become(bob, bob);
    expect_value("file", "user.a", "v");
    CHECK_ERRNO(setxattr("file", "user.a", "w", 1, 0), EACCES);
    CHECK_ERRNO(removexattr("file", "user.a"), EACCES);
  });
  CHECK_EQ(chmod("file", 0200), 0);
  in_child([] {
    become(alice, alice);
    CHECK_ERRNO(getxattr("file", "user.a", block, 10), EACCES);
    CHECK_EQ(setxattr("file", "user.a", "w", 1, 0), 0);
    CHECK(listed("file", "user.a"));
  });
  CHECK_EQ(unlink("file"), 0);
  CHECK_EQ(rmdir("shared"), 0);
}

// The time of change, and inotify.
void check_notices() {
  make_file("file", 0644);
  const int queue = inotify_init1(IN_NONBLOCK);
  CHECK(inotify_add_watch(queue, "file", IN_ALL_EVENTS) > 0);
  const auto expect_notice = [&](auto&& change) {
    struct stat before = {}, after = {};
    CHECK_EQ(stat("file", &before), 0);
    check_sleep_us(20000);  // longer than Linux's clock for files takes for a step
    CHECK_EQ(change(), 0);
    CHECK_EQ(stat("file", &after), 0);
    CHECK(after.st_ctim.tv_sec != before.st_ctim.tv_sec || after.st_ctim.tv_nsec != before.st_ctim.tv_nsec);
    CHECK(after.st_mtim.tv_sec == before.st_mtim.tv_sec && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
    struct inotify_event event = {};
    CHECK_EQ(read(queue, &event, sizeof event), sizeof event);
    CHECK_EQ(event.mask, IN_ATTRIB);
    CHECK_ERRNO(read(queue, &event, sizeof event), EAGAIN);
  };
  expect_notice([] { return setxattr("file", "user.a", "v", 1, 0); });
  expect_notice([] { return removexattr("file", "user.a"); });
  CHECK_ERRNO(removexattr("file", "user.a"), ENODATA);
  char byte;
  CHECK_ERRNO(read(queue, &byte, 1), EAGAIN);
  CHECK_EQ(close(queue), 0);
  CHECK_EQ(unlink("file"), 0);
}

// They count against the size of a file system, and are given back; one that is read-only takes none.
void check_room() {
  CHECK_EQ(mkdir("mount", 0700), 0);
  CHECK_EQ(mount("none", "mount", "tmpfs", 0, "size=1m,nr_inodes=200"), 0);  // on Linux they count with the inodes
  memset(block, 'x', sizeof block);
  for (int round = 0; round < 3; ++round) {
    make_file("mount/file", 0600);
    for (int i = 0; i < 50; ++i) {  // what is replaced, and what is refused, does not count any more
      CHECK_EQ(setxattr("mount/file", "user.0", block, longest_value, 0), 0);
      CHECK_ERRNO(setxattr("mount/file", "user.0", block, longest_value, XATTR_CREATE), EEXIST);
      CHECK_ERRNO(setxattr("mount/file", "user.1", block, longest_value, XATTR_REPLACE), ENODATA);
    }
    char name[32];
    int taken = 0;
    for (; taken < 100; ++taken) {
      snprintf(name, sizeof name, "user.%d", taken);
      if (setxattr("mount/file", name, block, longest_value, 0) == 0) continue;
      CHECK_EQ(errno, ENOSPC);
      break;
    }
    CHECK(taken >= 1 && taken < 100);
    CHECK_EQ(getxattr("mount/file", "user.0", nullptr, 0), longest_value);
    CHECK_EQ(unlink("mount/file"), 0);  // all of them go with it
  }
  make_file("mount/file", 0600);
  CHECK_EQ(setxattr("mount/file", "user.a", "v", 1, 0), 0);
  CHECK_EQ(mount("none", "mount", "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
  CHECK_ERRNO(setxattr("mount/file", "user.a", "w", 1, 0), EROFS);
  CHECK_ERRNO(removexattr("mount/file", "user.a"), EROFS);
  expect_value("mount/file", "user.a", "v");
  CHECK_EQ(umount("mount"), 0);
  CHECK_EQ(rmdir("mount"), 0);
}

// A file with user.tool and user.long, set by another system, which looks at what is made of them.
void change_given(const char* file) {
  expect_value(file, "user.tool", "host");
  CHECK_EQ(getxattr(file, "user.long", nullptr, 0), 200);
  CHECK(listed(file, "user.tool") && listed(file, "user.long"));
  CHECK_EQ(setxattr(file, "user.tool", "changed", 7, XATTR_REPLACE), 0);
  CHECK_EQ(setxattr(file, "user.guest", "guest", 5, XATTR_CREATE), 0);
  CHECK_EQ(removexattr(file, "user.long"), 0);
}

constexpr long turns = 200;

void* change_attributes(void* number) {
  char own[32];
  snprintf(own, sizeof own, "user.%ld", reinterpret_cast<long>(number));
  for (long i = 0; i < turns * check_effort; ++i) {
    CHECK_EQ(setxattr("file", own, own, 6, 0), 0);
    CHECK_EQ(setxattr("file", "user.all", own, 6, 0), 0);
    char value[16];
    CHECK_EQ(getxattr("file", "user.all", value, sizeof value), 6);
    CHECK_EQ(memcmp(value, "user.", 5), 0);
    CHECK_EQ(removexattr("file", own), 0);
  }
  return nullptr;
}

void check_threads() {
  constexpr long count = 4;
  make_file("file", 0644);
  pthread_t threads[count];
  for (long i = 0; i < count; ++i)
    CHECK_EQ(pthread_create(&threads[i], nullptr, change_attributes, reinterpret_cast<void*>(i)), 0);
  for (pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(listxattr("file", block, sizeof block), sizeof "user.all");
  CHECK_EQ(unlink("file"), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("attributetest", argc, argv);
  CHECK_EQ(geteuid(), 0);
  if (const char* given = getenv("GIVEN"); given != nullptr) {
    change_given(given);
    return check_done();
  }
  const char* directory = getenv("DIRECTORY");
  in_memory = directory == nullptr;
  snprintf(top, sizeof top, "%s/attributetest.d", in_memory ? "/dev/shm" : directory);
  CHECK(mkdir(top, 0755) == 0 && chdir(top) == 0);
  check_values();
  check_limits();
  check_namespaces();
  check_rights();
  check_notices();
  check_room();
  check_threads();
  CHECK_EQ(chdir("/"), 0);
  CHECK_EQ(rmdir(top), 0);
  return check_done();
}
