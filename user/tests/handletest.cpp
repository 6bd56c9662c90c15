// File handles: a file found again without its name.

#include "tests/children.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace {

constexpr const char* directory = "/dev/shm/handletest";
constexpr const char* path = "/dev/shm/handletest/file";
constexpr const char* link_path = "/dev/shm/handletest/link";
constexpr int empty_path = 0x1000;

struct Handle {
  unsigned size;
  int type;
  unsigned char bytes[128];
};

Handle handle_of(int from, const char* name, int flags = 0) {
  Handle handle{};
  handle.size = sizeof handle.bytes;
  int mount = -1;
  CHECK_EQ(syscall(SYS_name_to_handle_at, from, name, &handle, &mount, flags), 0);
  CHECK(handle.size > 0 && handle.size <= sizeof handle.bytes);
  CHECK(mount > 0);
  return handle;
}

int open_handle(int where, const Handle& handle, int flags) {
  return static_cast<int>(syscall(SYS_open_by_handle_at, where, &handle, flags));
}

ino_t number_of(int file) {
  struct stat status{};
  CHECK_EQ(fstat(file, &status), 0);
  return status.st_ino;
}

void test_names(int where) {
  Handle handle{};
  int mount = -1;
  CHECK_ERRNO(syscall(SYS_name_to_handle_at, where, path, &handle, &mount, 0), EOVERFLOW);
  const Handle file = handle_of(where, "file");
  CHECK_EQ(handle.size, file.size);  // it says how much is wanted
  handle.size = sizeof handle.bytes + 1;
  CHECK_ERRNO(syscall(SYS_name_to_handle_at, where, path, &handle, &mount, 0), EINVAL);
  CHECK_ERRNO(syscall(SYS_name_to_handle_at, where, "", &handle, &mount, 0), ENOENT);
  CHECK_ERRNO(syscall(SYS_name_to_handle_at, AT_FDCWD, "/proc/self/no such file", &handle, &mount, 0), ENOENT);
  const Handle link = handle_of(where, "link");
  CHECK(memcmp(link.bytes, file.bytes, file.size) != 0);
  const Handle followed = handle_of(where, "link", AT_SYMLINK_FOLLOW);
  CHECK_EQ(memcmp(followed.bytes, file.bytes, file.size), 0);
  const Handle itself = handle_of(where, "", empty_path);
  CHECK(memcmp(itself.bytes, file.bytes, file.size) != 0);
}

void test_opening(int where) {
  const int file = open(path, O_RDWR);
  const ino_t number = number_of(file);
  const Handle handle = handle_of(where, "file");
  const int found = open_handle(where, handle, O_RDWR | O_CLOEXEC);
  CHECK(found >= 0);
  CHECK_EQ(number_of(found), number);
  CHECK_EQ(fcntl(found, F_GETFD), FD_CLOEXEC);
  CHECK_EQ(write(found, "seen", 4), 4);
  char text[4];
  CHECK_EQ(pread(file, text, 4, 0), 4);
  CHECK_EQ(memcmp(text, "seen", 4), 0);
  CHECK_EQ(rename(path, "/dev/shm/handletest/elsewhere"), 0);
  const int moved = open_handle(where, handle, O_RDONLY);
  CHECK_EQ(number_of(moved), number);
  const Handle of_directory = handle_of(where, "", empty_path);
  const int opened = open_handle(moved, of_directory, O_RDONLY | O_DIRECTORY);
  CHECK_EQ(number_of(opened), number_of(where));
  CHECK_ERRNO(open_handle(where, handle_of(where, "link"), O_RDONLY), ELOOP);
  CHECK_ERRNO(open_handle(-1, handle, O_RDONLY), EBADF);
  Handle wrong = handle;
  wrong.size = 0;
  CHECK_ERRNO(open_handle(where, wrong, O_RDONLY), EINVAL);
  const int others[] = {file, found, moved, opened};
  for (const int other : others) { CHECK_EQ(close(other), 0); }
  CHECK_EQ(unlink("/dev/shm/handletest/elsewhere"), 0);
  CHECK_ERRNO(open_handle(where, handle, O_RDONLY), ESTALE);
}

// Files that end while others look for them.
void test_ends(int where) {
  const long rounds = 50 * check_effort;
  for (long i = 0; i < rounds; ++i) {
    CHECK_EQ(close(open(path, O_RDWR | O_CREAT, 0600)), 0);
    const Handle handle = handle_of(where, "file");
    const pid_t child = children::spawn([&] {
      for (;;) {
        const int file = open_handle(where, handle, O_RDONLY);
        if (file < 0) { return errno == ESTALE ? 0 : 1; }
        close(file);
      }
    });
    CHECK_EQ(unlink(path), 0);
    children::expect_exit(child, 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("handletest", argc, argv);
  CHECK_EQ(mkdir(directory, 0700), 0);
  CHECK_EQ(close(open(path, O_RDWR | O_CREAT | O_EXCL, 0600)), 0);
  CHECK_EQ(symlink("file", link_path), 0);
  const int where = open(directory, O_RDONLY | O_DIRECTORY);
  CHECK(where >= 0);
  test_names(where);
  const int probe = open_handle(where, handle_of(where, "file"), O_RDONLY);
  if (probe >= 0 || errno != EPERM) {  // a user, and root in a container, may not
    CHECK_EQ(close(probe), 0);
    test_opening(where);
    test_ends(where);
  } else {
    CHECK_EQ(unlink(path), 0);
  }
  CHECK_EQ(close(where), 0);
  CHECK_EQ(unlink(link_path), 0);
  CHECK_EQ(rmdir(directory), 0);
  return check_done();
}
