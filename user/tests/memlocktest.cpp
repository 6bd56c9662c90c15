// Locked memory: how much of it a process may have, what is counted, and what must not be done to it.

#include "tests/check.h"
#include "tests/users.h"

#include <sys/mman.h>
#include <sys/resource.h>

namespace {

constexpr size_t page = 4096;

// Without stdio, whose buffer would be locked memory, too.
long locked_kib() {
  static char text[4096];
  const int file = open("/proc/self/status", O_RDONLY);
  CHECK(file >= 0);
  const ssize_t size = read(file, text, sizeof text - 1);
  CHECK(size > 0);
  CHECK_EQ(close(file), 0);
  text[size] = 0;
  const char* const line = strstr(text, "VmLck:");
  CHECK(line != nullptr);
  return strtol(line + 6, nullptr, 10);
}

char* map(size_t size, int flags) {
  void* place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  CHECK(place != MAP_FAILED);
  return static_cast<char*>(place);
}

void test_counting() {
  CHECK_EQ(locked_kib(), 0);
  char* const memory = map(8 * page, 0);
  CHECK_EQ(mlock(memory + page + 1, page), 0);  // two pages
  CHECK_EQ(locked_kib(), 8);
  CHECK_EQ(mlock(memory, 4 * page), 0);  // counted once
  CHECK_EQ(locked_kib(), 16);
  users::in_child([] { CHECK_EQ(locked_kib(), 0); });  // not inherited
  CHECK_ERRNO(madvise(memory, page, MADV_DONTNEED), EINVAL);
  CHECK_ERRNO(madvise(memory + 3 * page, 2 * page, MADV_FREE), EINVAL);
  CHECK_EQ(madvise(memory + 4 * page, page, MADV_DONTNEED), 0);
  CHECK_ERRNO(msync(memory, page, MS_INVALIDATE), EBUSY);
  CHECK_EQ(msync(memory, page, MS_SYNC), 0);
  CHECK_EQ(munlock(memory + page, page), 0);
  CHECK_EQ(locked_kib(), 12);
  CHECK_EQ(msync(memory + page, page, MS_INVALIDATE), 0);
  CHECK_EQ(munmap(memory, page), 0);
  CHECK_EQ(locked_kib(), 8);
  CHECK_ERRNO(mlock(memory, 2 * page), ENOMEM);  // the first page is gone
  CHECK_EQ(munlockall(), 0);
  CHECK_EQ(locked_kib(), 0);
  CHECK_EQ(mlockall(MCL_FUTURE), 0);
  char* const later = map(2 * page, 0);
  CHECK_EQ(locked_kib(), 8);
  unsigned char resident[2] = {};
  CHECK_EQ(mincore(later, 2 * page, resident), 0);
  CHECK((resident[0] & resident[1] & 1) != 0);
  CHECK_EQ(mlockall(MCL_CURRENT), 0);  // and no longer those to come
  CHECK(locked_kib() > 8);
  CHECK_EQ(munlockall(), 0);
  CHECK_EQ(munmap(later, 2 * page), 0);
  char* const at_once = map(page, MAP_LOCKED);
  CHECK_EQ(locked_kib(), 4);
  CHECK_EQ(munmap(at_once, page), 0);
  CHECK_ERRNO(mlockall(0), EINVAL);
  CHECK_ERRNO(mlockall(8), EINVAL);
  CHECK_EQ(munmap(memory + page, 7 * page), 0);
}

// The call itself: musl makes another error of EPERM.
long map_locked() {
  return syscall(SYS_mmap, nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
}

void set_limit(rlim_t bytes) {
  const rlimit limit = {bytes, bytes};
  CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
}

void test_limit() {
  char* const memory = map(8 * page, 0);
  users::in_child([&] {
    set_limit(2 * page);
    CHECK_EQ(mlock(memory, 4 * page), 0);  // root may
    CHECK_EQ(munlockall(), 0);
    users::become(users::alice, users::alice);
    CHECK_ERRNO(mlock(memory, 3 * page), ENOMEM);
    CHECK_EQ(mlock(memory, 2 * page), 0);
    CHECK_EQ(mlock(memory, 2 * page), 0);
    CHECK_ERRNO(mlock(memory + 2 * page, page), ENOMEM);
    CHECK_ERRNO(mlockall(MCL_CURRENT), ENOMEM);
    CHECK_ERRNO(map_locked(), EAGAIN);
    CHECK_EQ(munlock(memory, 2 * page), 0);
    set_limit(0);
    CHECK_ERRNO(mlock(memory, page), EPERM);
    CHECK_ERRNO(mlockall(MCL_FUTURE), EPERM);
    CHECK_ERRNO(map_locked(), EPERM);
    CHECK_EQ(munlockall(), 0);
  });
  CHECK_EQ(munmap(memory, 8 * page), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("memlocktest", argc, argv);
  test_counting();
  test_limit();
  return check_done();
}
