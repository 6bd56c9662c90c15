// Resource limits that are enforced, with the errors and signals that tell of them, and what getrusage and times count.

#include "tests/signals.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/times.h>

using namespace signals;

namespace {

void limit(int resource, rlim_t soft) {
  rlimit now{};
  CHECK_EQ(getrlimit(resource, &now), 0);
  now.rlim_cur = soft;
  CHECK_EQ(setrlimit(resource, &now), 0);
}

void expect_success(int status) {
  CHECK_EQ(status, 0);
}

void test_values() {
  expect_success(status_of_child([] {
    for (int resource = 0; resource < 16; ++resource) {
      rlimit now{};
      CHECK_EQ(getrlimit(resource, &now), 0);
      CHECK(now.rlim_cur <= now.rlim_max);
      const rlimit wrong = {now.rlim_max, now.rlim_max == 0 ? 0 : now.rlim_max - 1};
      if (now.rlim_max != 0) { CHECK_ERRNO(setrlimit(resource, &wrong), EINVAL); }
      CHECK_EQ(setrlimit(resource, &now), 0);
    }
    rlimit now{};
    CHECK_ERRNO(syscall(SYS_prlimit64, 0, 16, nullptr, &now), EINVAL);
    CHECK_ERRNO(syscall(SYS_prlimit64, 0x3fffffff, 0, nullptr, &now), ESRCH);
    // Inherited.
    limit(RLIMIT_NOFILE, 77);
    expect_success(status_of_child([] {
      rlimit child{};
      CHECK_EQ(getrlimit(RLIMIT_NOFILE, &child), 0);
      CHECK_EQ(child.rlim_cur, 77);
      return 0;
    }));
    return 0;
  }));
}

void test_file_size() {
  expect_success(status_of_child([] {
    char name[64];
    snprintf(name, sizeof name, "/tmp/limittest.%d", getpid());
    const int file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(file >= 0);
    limit(RLIMIT_FSIZE, 100);
    on(SIGXFSZ, count_signal);
    handled = 0;
    char bytes[200] = {};
    CHECK_EQ(write(file, bytes, 60), 60);
    CHECK_EQ(write(file, bytes, 200), 40);  // as far as it goes
    CHECK_EQ(handled, 0);
    CHECK_ERRNO(write(file, bytes, 1), EFBIG);
    CHECK_EQ(handled, 1);
    CHECK_ERRNO(pwrite(file, bytes, 1, 5000), EFBIG);
    CHECK_ERRNO(ftruncate(file, 101), EFBIG);
    CHECK_EQ(handled, 3);
    CHECK_EQ(ftruncate(file, 100), 0);
    CHECK_EQ(ftruncate(file, 10), 0);
    CHECK_EQ(fcntl(file, F_SETFL, O_APPEND), 0);
    CHECK_EQ(write(file, bytes, 200), 90);
    CHECK_ERRNO(write(file, bytes, 1), EFBIG);
    on(SIGXFSZ, SIG_IGN);
    CHECK_ERRNO(write(file, bytes, 1), EFBIG);
    CHECK_EQ(unlink(name), 0);
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(write(ends[1], bytes, 200), 200);  // files only
    return 0;
  }));
  expect_killed(SIGXFSZ, [] {
    char name[64];
    snprintf(name, sizeof name, "/tmp/limittest.%d", getpid());
    const int file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    unlink(name);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    return write(file, "x", 1) < 0 ? 1 : 2;
  });
}

void test_memory() {
  expect_success(status_of_child([] {
    limit(RLIMIT_AS, 64 << 20);
    CHECK(mmap(nullptr, 128 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    CHECK_EQ(errno, ENOMEM);
    return 0;
  }));
  expect_success(status_of_child([] {
    limit(RLIMIT_DATA, 16 << 20);
    CHECK(mmap(nullptr, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    CHECK_EQ(errno, ENOMEM);
    CHECK(mmap(nullptr, 32 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);  // not data
    const long brk = syscall(SYS_brk, 0);
    CHECK_EQ(syscall(SYS_brk, brk + (32 << 20)), brk);
    return 0;
  }));
}

void test_cpu() {
  // A second for itself, told every second from then on, and ended by the hard limit.
  expect_success(status_of_child([] {
    on(SIGXCPU, count_signal);
    handled = 0;
    limit(RLIMIT_CPU, 1);
    while (handled == 0) { check_spin(100000); }
    tms used{};
    times(&used);
    const long ticks = sysconf(_SC_CLK_TCK);
    CHECK(used.tms_utime + used.tms_stime >= ticks / 2);  // Linux's clocks of it differ on a busy host
    CHECK(used.tms_utime + used.tms_stime < ticks * 2);
    return 0;
  }));
  const int status = status_of_child([] {
    on(SIGXCPU, SIG_IGN);
    const rlimit both = {1, 2};
    CHECK_EQ(setrlimit(RLIMIT_CPU, &both), 0);
    for (;;) { check_spin(100000); }
    return 0;
  });
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

void test_usage() {
  rusage before{};
  CHECK_EQ(getrusage(RUSAGE_SELF, &before), 0);
  constexpr size_t size = 8 << 20;
  auto* bytes = static_cast<volatile char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (size_t at = 0; at < size; at += 4096) { bytes[at] = 1; }
  for (int turn = 0; turn < 20; ++turn) { check_sleep_us(1000); }
  rusage after{};
  CHECK_EQ(getrusage(RUSAGE_SELF, &after), 0);
  CHECK(after.ru_minflt - before.ru_minflt >= 1);
  CHECK(after.ru_maxrss >= static_cast<long>(size / 1024));
  CHECK(after.ru_nvcsw - before.ru_nvcsw >= 20);
  CHECK_EQ(munmap(const_cast<char*>(bytes), size), 0);
  rusage later{};
  CHECK_EQ(getrusage(RUSAGE_SELF, &later), 0);
  CHECK(later.ru_maxrss >= after.ru_maxrss);  // the most there ever was
  rusage thread{};
  CHECK_EQ(getrusage(RUSAGE_THREAD, &thread), 0);
  CHECK(thread.ru_nvcsw >= 20);
  CHECK_ERRNO(getrusage(2, &thread), EINVAL);

  rusage children{};
  CHECK_EQ(getrusage(RUSAGE_CHILDREN, &children), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int64_t begin = check_now_ns();
    while (check_now_ns() - begin < 200000000) { check_spin(1000); }
    auto* more =
        static_cast<volatile char*>(mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (size_t at = 0; at < 2 * size; at += 4096) { more[at] = 1; }
    _exit(0);
  }
  rusage told{};
  CHECK_EQ(wait4(child, nullptr, 0, &told), child);
  CHECK(told.ru_utime.tv_sec * 1000000 + told.ru_utime.tv_usec + told.ru_stime.tv_sec * 1000000 + told.ru_stime.tv_usec > 1000);
  CHECK(told.ru_maxrss >= static_cast<long>(2 * size / 1024));
  rusage now{};
  CHECK_EQ(getrusage(RUSAGE_CHILDREN, &now), 0);
  CHECK(now.ru_utime.tv_sec * 1000000 + now.ru_utime.tv_usec > children.ru_utime.tv_sec * 1000000 + children.ru_utime.tv_usec);
  CHECK(now.ru_maxrss >= told.ru_maxrss);
  CHECK(now.ru_minflt > children.ru_minflt);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("limittest", argc, argv);
  test_values();
  test_file_size();
  test_memory();
  test_cpu();
  test_usage();
  return check_done();
}
