// What becomes of writes that nobody waits for. usage: losttest [EFFORT], in $DIRECTORY or /tmp. With $REFUSED, a file of which a server
// keeps less than 32 TiB: what cannot be written is told once to each who has the file open. With $LAST, a file: the machine is
// switched off while it is mapped and others go on writing beside it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/stat.h>

#include "check.h"

namespace {

constexpr off_t too_far = off_t{1} << 45;
constexpr size_t mapped_size = 1 << 20;

int opened(const char* name, int flags) {
  const int file = open(name, flags, 0600);
  CHECK(file >= 0);
  return file;
}

int error_of(int result) {
  return result == 0 ? 0 : errno;
}

// A write at the place succeeds, for it is kept in memory; later it cannot be brought to where the file is, if it is `refused`.
void errors_are_told(const char* name, off_t place, bool refused) {
  const int first = opened(name, O_RDWR | O_CREAT | O_TRUNC), second = opened(name, O_RDONLY);
  CHECK_EQ(ftruncate(first, 1), 0);
  const int mapped = opened(name, O_RDWR);
  void* const memory = mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, mapped, 0);
  CHECK(memory != MAP_FAILED);
  CHECK_EQ(close(mapped), 0);
  CHECK_EQ(fsync(first), 0);
  CHECK_EQ(pwrite(first, "x", 1, place), 1);
  sync();  // tells nobody
  const int late = opened(name, O_RDONLY);  // nobody has been told yet
  const auto told = [&](auto&& call) {
    if (refused) CHECK_EQ(call(), EFBIG);
    CHECK_EQ(call(), 0);
  };
  told([&] { return error_of(fsync(first)); });
  told([&] { return error_of(fdatasync(second)); });
  told([&] { return error_of(fsync(late)); });
  told([&] { return error_of(msync(memory, 1, MS_SYNC)); });
  told([&] { return error_of(syncfs(second)); });
  told([&] { return error_of(syncfs(first)); });
  const int after = opened(name, O_RDONLY);
  CHECK_EQ(fsync(after), 0);
  CHECK_EQ(syncfs(after), 0);
  CHECK_EQ(munmap(memory, 1), 0);
  CHECK_EQ(ftruncate(first, 1), 0);
  if (refused) CHECK_ERRNO(ftruncate(first, place), EFBIG);  // and it stays as it was
  struct stat status;
  CHECK_EQ(fstat(first, &status), 0);
  CHECK_EQ(status.st_size, 1);
  const int files[] = {first, second, late, after};
  for (const int file : files) CHECK_EQ(close(file), 0);
  CHECK_EQ(unlink(name), 0);
}

// Beside it: appends, cuts, makes and removes names, for ever.
[[noreturn]] void go_on(const char* base, int number) {
  char name[256], other[256];
  snprintf(name, sizeof name, "%s.%d", base, number);
  snprintf(other, sizeof other, "%s.%d.other", base, number);
  static const char text[10000] = {'t'};
  for (int i = 0;; ++i) {
    const int file = opened(name, O_RDWR | O_CREAT);
    CHECK_EQ(pwrite(file, text, sizeof text, i % 50 * 10000), 10000);
    CHECK_EQ(ftruncate(file, i % 60 * 10000), 0);
    CHECK_EQ(close(file), 0);
    CHECK_EQ(rename(name, other), 0);
    CHECK_EQ(i % 3 == 0 ? unlink(other) : rename(other, name), 0);
  }
}

void switch_off(const char* name) {
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) go_on(name, i);
  }
  sleep(1);
  const int file = opened(name, O_RDWR | O_CREAT | O_TRUNC);
  CHECK_EQ(ftruncate(file, mapped_size), 0);
  void* const memory = mmap(nullptr, mapped_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(memory != MAP_FAILED);
  memset(memory, 'm', mapped_size);
  reboot(RB_POWER_OFF);
  CHECK(false);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("losttest", argc, argv);
  if (const char* const name = getenv("LAST"); name != nullptr) switch_off(name);
  if (const char* const name = getenv("REFUSED"); name != nullptr) {
    errors_are_told(name, too_far, true);
    return check_done();
  }
  const char* const base = getenv("DIRECTORY");
  char name[256];
  snprintf(name, sizeof name, "%s/losttest", base != nullptr ? base : "/tmp");
  errors_are_told(name, 1 << 20, false);
  return check_done();
}
