// Watching files (inotify): every event and its order, cookies, ends of watches, unmounting, overflow, waiting, many threads.
// usage: watchtest [EFFORT]; DISK in the environment: a disk with an ext2 that is not mounted, for unmounting that as well.

#include "tests/check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace {

constexpr const char* top = "/dev/shm/watchtest.d";
char path_text[2][256];

const char* path(const char* name, int which = 0) {
  snprintf(path_text[which], sizeof path_text[which], "%s/%s", top, name);
  return path_text[which];
}

alignas(inotify_event) char buffer[65536];
size_t given, taken;

// The next event; null: there is none.
const struct inotify_event* next_event(int queue) {
  if (taken == given) {
    const ssize_t size = read(queue, buffer, sizeof buffer);
    if (size < 0) {
      CHECK_EQ(errno, EAGAIN);
      return nullptr;
    }
    given = static_cast<size_t>(size);
    taken = 0;
  }
  const auto* event = reinterpret_cast<const struct inotify_event*>(buffer + taken);
  taken += sizeof *event + event->len;
  CHECK(taken <= given);
  CHECK_EQ(event->len % 16, 0);
  return event;
}

unsigned last_cookie;

void expect_at(int line, int queue, int watch, unsigned mask, const char* name) {
  const struct inotify_event* event = next_event(queue);
  check_true(__FILE__, line, "there is an event", event != nullptr);
  check_equal(__FILE__, line, "its mask", event->mask, mask);
  check_equal(__FILE__, line, "its watch", event->wd, watch);
  const char* told = event->len > 0 ? event->name : "";
  check_true(__FILE__, line, name, strcmp(told, name) == 0);
  last_cookie = event->cookie;
}
#define EXPECT(queue, watch, mask, name) expect_at(__LINE__, queue, watch, mask, name)
#define EXPECT_NOTHING(queue) CHECK(next_event(queue) == nullptr)

void touch(const char* name) {
  const int file = open(path(name), O_CREAT | O_WRONLY, 0600);
  CHECK(file >= 0);
  CHECK_EQ(close(file), 0);
}

void clean() {
  const char* const files[] = {"file", "other", "link", "sub/inner", "moved"};
  for (const char* name : files) unlink(path(name));
  rmdir(path("sub"));
  rmdir(path("sub2"));
  rmdir(path("mount"));
  rmdir(top);
}

void check_errors() {
  CHECK_ERRNO(inotify_init1(1), EINVAL);
  const int queue = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  CHECK(queue >= 0);
  CHECK_EQ(fcntl(queue, F_GETFD), FD_CLOEXEC);
  CHECK_ERRNO(inotify_add_watch(queue, top, 0), EINVAL);
  CHECK_ERRNO(inotify_add_watch(-1, top, IN_CREATE), EBADF);
  CHECK_ERRNO(inotify_add_watch(0, top, IN_CREATE), EINVAL);
  CHECK_ERRNO(inotify_add_watch(queue, "/no such file", IN_CREATE), ENOENT);
  CHECK_ERRNO(inotify_add_watch(queue, nullptr, IN_CREATE), EFAULT);
  CHECK_ERRNO(inotify_add_watch(queue, "/dev/null", IN_CREATE | IN_ONLYDIR), ENOTDIR);
  CHECK_ERRNO(inotify_add_watch(queue, top, IN_CREATE | IN_MASK_ADD | 0x10000000), EINVAL);
  CHECK_ERRNO(inotify_rm_watch(queue, 1), EINVAL);
  CHECK_ERRNO(inotify_rm_watch(0, 1), EINVAL);
  CHECK_ERRNO(inotify_rm_watch(-1, 1), EBADF);
  const int first = inotify_add_watch(queue, top, IN_CREATE);
  CHECK_EQ(first, 1);
  CHECK_EQ(inotify_add_watch(queue, top, IN_DELETE), first);
  CHECK_ERRNO(inotify_add_watch(queue, top, IN_CREATE | 0x10000000), EEXIST);
  touch("file");
  EXPECT_NOTHING(queue);
  CHECK_EQ(inotify_add_watch(queue, top, IN_CREATE | IN_MASK_ADD), first);
  CHECK_EQ(unlink(path("file")), 0);
  CHECK_ERRNO(read(queue, buffer, 16), EINVAL);
  EXPECT(queue, first, IN_DELETE, "file");
  CHECK_EQ(inotify_rm_watch(queue, first), 0);
  EXPECT(queue, first, IN_IGNORED, "");
  CHECK_ERRNO(inotify_rm_watch(queue, first), EINVAL);
  CHECK_EQ(inotify_add_watch(queue, top, IN_CREATE), first + 1);
  CHECK_EQ(close(queue), 0);
}

// A file that is made has nothing to be cut off, whatever the flags say.
void check_making() {
  const int queue = inotify_init1(IN_NONBLOCK);
  const int watch = inotify_add_watch(queue, top, IN_ALL_EVENTS);
  CHECK_EQ(close(open(path("file"), O_CREAT | O_TRUNC | O_WRONLY, 0600)), 0);
  EXPECT(queue, watch, IN_CREATE, "file");
  EXPECT(queue, watch, IN_OPEN, "file");
  EXPECT(queue, watch, IN_CLOSE_WRITE, "file");
  EXPECT_NOTHING(queue);
  CHECK_EQ(close(queue), 0);
  CHECK_EQ(unlink(path("file")), 0);
}

void check_names() {
  const int queue = inotify_init1(IN_NONBLOCK);
  const int watch = inotify_add_watch(queue, top, IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF | IN_MOVE_SELF);
  touch("file");
  EXPECT(queue, watch, IN_CREATE, "file");
  CHECK_EQ(mkdir(path("sub"), 0700), 0);
  EXPECT(queue, watch, IN_CREATE | IN_ISDIR, "sub");
  CHECK_EQ(symlink("file", path("link")), 0);
  EXPECT(queue, watch, IN_CREATE, "link");
  CHECK_EQ(unlink(path("link")), 0);
  EXPECT(queue, watch, IN_DELETE, "link");
  CHECK_EQ(link(path("file"), path("link", 1)), 0);
  EXPECT(queue, watch, IN_CREATE, "link");
  CHECK_EQ(unlink(path("link")), 0);
  EXPECT(queue, watch, IN_DELETE, "link");
  // In place, out of the directory and into it.
  const int sub = inotify_add_watch(queue, path("sub"), IN_MOVE | IN_MOVE_SELF | IN_DELETE_SELF);
  CHECK_EQ(rename(path("file"), path("moved", 1)), 0);
  EXPECT(queue, watch, IN_MOVED_FROM, "file");
  const unsigned cookie = last_cookie;
  EXPECT(queue, watch, IN_MOVED_TO, "moved");
  CHECK(cookie != 0 && last_cookie == cookie);
  CHECK_EQ(rename(path("moved"), path("sub/inner", 1)), 0);
  EXPECT(queue, watch, IN_MOVED_FROM, "moved");
  CHECK(last_cookie != cookie && last_cookie != 0);
  EXPECT(queue, sub, IN_MOVED_TO, "inner");
  CHECK_EQ(rename(path("sub"), path("sub2", 1)), 0);
  EXPECT(queue, watch, IN_MOVED_FROM | IN_ISDIR, "sub");
  EXPECT(queue, watch, IN_MOVED_TO | IN_ISDIR, "sub2");
  EXPECT(queue, sub, IN_MOVE_SELF, "");
  CHECK_EQ(unlink(path("sub2/inner")), 0);
  CHECK_EQ(rmdir(path("sub2")), 0);
  EXPECT(queue, sub, IN_DELETE_SELF, "");
  EXPECT(queue, sub, IN_IGNORED, "");
  EXPECT(queue, watch, IN_DELETE | IN_ISDIR, "sub2");
  EXPECT_NOTHING(queue);
  CHECK_EQ(close(queue), 0);
}

void check_use() {
  const int queue = inotify_init1(IN_NONBLOCK);
  touch("file");
  const int watch = inotify_add_watch(queue, path("file"), IN_ALL_EVENTS);
  const int directory = inotify_add_watch(queue, top, IN_ALL_EVENTS);
  const int file = open(path("file"), O_RDWR);
  EXPECT(queue, directory, IN_OPEN, "file");
  EXPECT(queue, watch, IN_OPEN, "");
  CHECK_EQ(write(file, "text", 4), 4);
  EXPECT(queue, directory, IN_MODIFY, "file");
  EXPECT(queue, watch, IN_MODIFY, "");
  // The same again, unread, is one.
  CHECK_EQ(inotify_add_watch(queue, top, IN_CREATE), directory);
  CHECK_EQ(write(file, "text", 4), 4);
  CHECK_EQ(write(file, "text", 4), 4);
  EXPECT(queue, watch, IN_MODIFY, "");
  EXPECT_NOTHING(queue);
  CHECK_EQ(pread(file, buffer, 4, 0), 4);
  EXPECT(queue, watch, IN_ACCESS, "");
  CHECK_EQ(pread(file, buffer, 4, 100), 0);
  CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
  EXPECT_NOTHING(queue);
  CHECK_EQ(ftruncate(file, 1), 0);
  EXPECT(queue, watch, IN_MODIFY, "");
  CHECK_EQ(fchmod(file, 0640), 0);
  EXPECT(queue, watch, IN_ATTRIB, "");
  CHECK_EQ(utimensat(AT_FDCWD, path("file"), nullptr, 0), 0);
  EXPECT(queue, watch, IN_ATTRIB, "");
  const int twin = dup(file);
  CHECK_EQ(close(file), 0);
  EXPECT_NOTHING(queue);
  CHECK_EQ(close(twin), 0);
  EXPECT(queue, watch, IN_CLOSE_WRITE, "");
  const int reader = open(path("file"), O_RDONLY);
  EXPECT(queue, watch, IN_OPEN, "");
  CHECK_EQ(close(reader), 0);
  EXPECT(queue, watch, IN_CLOSE_NOWRITE, "");
  const int name_only = open(path("file"), O_PATH);
  CHECK_EQ(close(name_only), 0);
  EXPECT_NOTHING(queue);
  // An open file lives on without its name; then its watch goes.
  const int last = open(path("file"), O_WRONLY);
  EXPECT(queue, watch, IN_OPEN, "");
  CHECK_EQ(unlink(path("file")), 0);
  EXPECT(queue, watch, IN_ATTRIB, "");
  EXPECT_NOTHING(queue);
  CHECK_EQ(close(last), 0);
  EXPECT(queue, watch, IN_CLOSE_WRITE, "");
  EXPECT(queue, watch, IN_DELETE_SELF, "");
  EXPECT(queue, watch, IN_IGNORED, "");
  CHECK_ERRNO(inotify_rm_watch(queue, watch), EINVAL);
  // The same when the last one to know it could not read it, which alone is no event.
  touch("file");
  while (next_event(queue) != nullptr) continue;
  const int end = inotify_add_watch(queue, path("file"), IN_DELETE_SELF | IN_CLOSE);
  const int known = open(path("file"), O_PATH);
  CHECK(end > 0 && known >= 0);
  CHECK_EQ(unlink(path("file")), 0);
  while (next_event(queue) != nullptr) continue;
  CHECK_EQ(close(known), 0);
  EXPECT(queue, end, IN_DELETE_SELF, "");
  EXPECT(queue, end, IN_IGNORED, "");
  // Once only.
  CHECK_EQ(inotify_add_watch(queue, top, IN_CREATE | IN_ONESHOT), directory);
  touch("file");
  EXPECT(queue, directory, IN_CREATE, "file");
  EXPECT(queue, directory, IN_IGNORED, "");
  CHECK_EQ(unlink(path("file")), 0);
  EXPECT_NOTHING(queue);
  CHECK_EQ(close(queue), 0);
}

void check_overflow() {
  const int queue = inotify_init1(IN_NONBLOCK);
  const int watch = inotify_add_watch(queue, top, IN_OPEN | IN_CLOSE_WRITE);
  int most = 16384;
  FILE* limit = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
  CHECK(limit != nullptr);
  CHECK_EQ(fscanf(limit, "%d", &most), 1);
  fclose(limit);
  for (int i = 0; i < most / 2 + 10; ++i) touch("file");
  int bytes = 0;
  CHECK_EQ(ioctl(queue, FIONREAD, &bytes), 0);
  CHECK_EQ(bytes, most * 32 + 16);
  for (int i = 0; i < most; ++i) EXPECT(queue, watch, i % 2 == 0 ? IN_OPEN : IN_CLOSE_WRITE, "file");
  EXPECT(queue, -1, IN_Q_OVERFLOW, "");
  EXPECT_NOTHING(queue);
  touch("file");
  EXPECT(queue, watch, IN_OPEN, "file");
  EXPECT(queue, watch, IN_CLOSE_WRITE, "file");
  CHECK_EQ(unlink(path("file")), 0);
  CHECK_EQ(close(queue), 0);
}

// Who watches files keeps nobody from unmounting their file system, and hears of it; who has one open does. Only for who may mount.
void check_unmounting() {
  const char* disk = getenv("DISK");
  CHECK_EQ(mkdir(path("mount"), 0700), 0);
  if (mount(disk == nullptr ? "none" : disk, path("mount"), disk == nullptr ? "tmpfs" : "ext2", 0, "") != 0) {
    CHECK(errno == EPERM || errno == EACCES);
    CHECK_EQ(rmdir(path("mount")), 0);
    return;
  }
  CHECK_EQ(mkdir(path("mount/directory"), 0700), 0);
  touch("mount/directory/file");
  const int queue = inotify_init1(IN_NONBLOCK), other = inotify_init1(IN_NONBLOCK);
  const int root = inotify_add_watch(queue, path("mount"), IN_DELETE_SELF);
  const int directory = inotify_add_watch(queue, path("mount/directory"), IN_DELETE_SELF);
  const int watch = inotify_add_watch(other, path("mount/directory/file"), IN_CLOSE);
  CHECK(root > 0 && directory > 0 && watch > 0);
  const int file = open(path("mount/directory/file"), O_RDONLY);
  CHECK(file >= 0);
  if (disk != nullptr) CHECK_ERRNO(umount(path("mount")), EBUSY);
  CHECK_EQ(close(file), 0);
  EXPECT(other, watch, IN_CLOSE_NOWRITE, "");
  EXPECT_NOTHING(other);
  EXPECT_NOTHING(queue);
  CHECK_EQ(umount(path("mount")), 0);
  EXPECT(other, watch, IN_UNMOUNT, "");
  EXPECT(other, watch, IN_IGNORED, "");
  EXPECT_NOTHING(other);
  int unmounted = 0, ignored = 0;  // which of the two is told first is not said
  while (const struct inotify_event* event = next_event(queue)) {
    CHECK(event->wd == root || event->wd == directory);
    const int bit = event->wd == root ? 1 : 2;
    if (event->mask == (IN_UNMOUNT | IN_ISDIR)) {
      CHECK_EQ(unmounted & bit, 0);
      unmounted |= bit;
    } else {
      CHECK_EQ(event->mask, IN_IGNORED);
      CHECK_EQ(unmounted & bit, bit);
      ignored |= bit;
    }
  }
  CHECK(unmounted == 3 && ignored == 3);
  CHECK_ERRNO(inotify_rm_watch(queue, root), EINVAL);
  CHECK_EQ(close(queue), 0);
  CHECK_EQ(close(other), 0);
  if (disk != nullptr) {  // it was left in order, and can be mounted again
    CHECK_EQ(mount(disk, path("mount"), "ext2", 0, ""), 0);
    CHECK_EQ(unlink(path("mount/directory/file")), 0);
    CHECK_EQ(rmdir(path("mount/directory")), 0);
    CHECK_EQ(umount(path("mount")), 0);
  }
  CHECK_EQ(rmdir(path("mount")), 0);
}

// Of many watches of two file systems those of the one that is unmounted end, each once.
void check_unmounting_one_of_two() {
  constexpr int count = 3000;
  const char* const names[2] = {"first", "second"};
  for (const char* name : names) {
    CHECK_EQ(mkdir(path(name), 0700), 0);
    if (mount("none", path(name), "tmpfs", 0, "") != 0) {
      CHECK(errno == EPERM || errno == EACCES);
      CHECK_EQ(rmdir(path(name)), 0);
      return;
    }
  }
  const int queue = inotify_init1(IN_NONBLOCK), mixed = inotify_init1(IN_NONBLOCK);
  for (int i = 0; i < count; ++i) {
    for (const char* name : names) {
      char text[40];
      snprintf(text, sizeof text, "%s/%d", name, i);
      touch(text);
      if (name == names[1]) CHECK_EQ(inotify_add_watch(queue, path(text), IN_DELETE_SELF), i + 1);
      CHECK(inotify_add_watch(mixed, path(text), IN_DELETE_SELF) > 0);
    }
  }
  CHECK_EQ(umount(path("first")), 0);
  EXPECT_NOTHING(queue);
  int ended[2 * count + 1] = {};
  for (int i = 0; i < 2 * count; ++i) {
    const struct inotify_event* event = next_event(mixed);
    CHECK(event != nullptr && event->wd % 2 == 1 && event->wd < 2 * count);
    CHECK_EQ(event->mask, ended[event->wd]++ == 0 ? IN_UNMOUNT : IN_IGNORED);
  }
  EXPECT_NOTHING(mixed);
  CHECK_EQ(close(mixed), 0);
  CHECK_EQ(unlink(path("second/0")), 0);
  EXPECT(queue, 1, IN_DELETE_SELF, "");
  EXPECT(queue, 1, IN_IGNORED, "");
  CHECK_EQ(umount(path("second")), 0);
  for (int i = 0; i < 2 * (count - 1); ++i) CHECK(next_event(queue) != nullptr);
  EXPECT_NOTHING(queue);
  CHECK_EQ(close(queue), 0);
  for (const char* name : names) CHECK_EQ(rmdir(path(name)), 0);
}

// One thread waits for what others make and remove; it is told of all of it.
struct Crowd {
  long turns;
};

void* make_files(void* argument) {
  auto* crowd = static_cast<Crowd*>(argument);
  char name[300];
  snprintf(name, sizeof name, "%s/thread-%lx", top, static_cast<unsigned long>(pthread_self()));
  for (long i = 0; i < crowd->turns; ++i) {
    const int file = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
    CHECK(file >= 0);
    CHECK_EQ(close(file), 0);
    CHECK_EQ(unlink(name), 0);
  }
  return nullptr;
}

void* change_watches(void* argument) {
  auto* crowd = static_cast<Crowd*>(argument);
  for (long i = 0; i < crowd->turns; ++i) {
    const int queue = inotify_init1(IN_NONBLOCK);
    CHECK(queue >= 0);
    const int watch = inotify_add_watch(queue, top, IN_ALL_EVENTS);
    CHECK_EQ(watch, 1);
    if (i % 2 == 0) CHECK_EQ(inotify_rm_watch(queue, watch), 0);
    CHECK_EQ(close(queue), 0);
  }
  return nullptr;
}

void check_threads() {
  constexpr int makers = 3;
  Crowd crowd = {300 * check_effort};
  const int queue = inotify_init1(0);
  CHECK(inotify_add_watch(queue, top, IN_CREATE | IN_DELETE) > 0);
  pthread_t threads[makers + 1];
  for (int i = 0; i < makers; ++i) CHECK_EQ(pthread_create(&threads[i], nullptr, make_files, &crowd), 0);
  CHECK_EQ(pthread_create(&threads[makers], nullptr, change_watches, &crowd), 0);
  long made = 0, removed = 0;
  given = taken = 0;
  while (made < makers * crowd.turns || removed < makers * crowd.turns) {
    const struct inotify_event* event = next_event(queue);
    CHECK(event->mask == IN_CREATE || event->mask == IN_DELETE);
    ++(event->mask == IN_CREATE ? made : removed);
  }
  for (pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(made, makers * crowd.turns);
  CHECK_EQ(removed, makers * crowd.turns);
  struct pollfd entry = {queue, POLLIN, 0};
  CHECK_EQ(poll(&entry, 1, 0), 0);
  touch("file");
  CHECK_EQ(poll(&entry, 1, 1000), 1);
  CHECK_EQ(entry.revents, POLLIN);
  CHECK_EQ(unlink(path("file")), 0);
  CHECK_EQ(close(queue), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("watchtest", argc, argv);
  clean();
  CHECK_EQ(mkdir(top, 0700), 0);
  check_errors();
  check_making();
  check_names();
  check_use();
  check_unmounting();
  check_unmounting_one_of_two();
  check_overflow();
  check_threads();
  clean();
  return check_done();
}
