// The futex call: exact results and errors, relative and absolute timeouts, interruption by a signal, private and shared
// words between processes.

#include "tests/futex_call.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

namespace {

using namespace futex_call;

using Numbers = const int[];
using Flags = const bool[];

void test_errors() {
  static Word word = 5;
  CHECK_ERRNO(futex(&word, FUTEX_WAIT, 4), EAGAIN);
  CHECK_ERRNO(futex(&word, wait_private, 4), EAGAIN);
  CHECK_ERRNO(futex(&word, wait_bitset_private, 4, nullptr, nullptr, ~0u), EAGAIN);
  CHECK_ERRNO(futex(&word, wait_bitset_private, 5, nullptr, nullptr, 0), EINVAL);
  CHECK_ERRNO(futex(&word, wake_bitset_private, 1, nullptr, nullptr, 0), EINVAL);
  auto* odd = reinterpret_cast<Word*>(reinterpret_cast<char*>(&word) + 1);
  CHECK_ERRNO(futex(odd, wait_private, 5), EINVAL);
  CHECK_ERRNO(futex(odd, wake_private, 1), EINVAL);
  CHECK_ERRNO(futex(nullptr, wait_private, 0), EFAULT);
  CHECK_ERRNO(futex(nullptr, FUTEX_WAIT, 0), EFAULT);
  CHECK_ERRNO(futex(nullptr, FUTEX_WAKE, 1), EFAULT);
  CHECK_ERRNO(futex(reinterpret_cast<Word*>(0xffff800000000000), wait_private, 0), EFAULT);
  CHECK_ERRNO(futex(reinterpret_cast<Word*>(0xffff800000000000), wake_private, 1), EFAULT);
  CHECK_ERRNO(futex(&word, 127, 5), ENOSYS);
  timespec bad = {0, 1000000000};
  CHECK_ERRNO(futex(&word, wait_private, 5, &bad), EINVAL);
  bad = {0, -1};
  CHECK_ERRNO(futex(&word, wait_private, 5, &bad), EINVAL);
  bad = {-1, 0};
  CHECK_ERRNO(futex(&word, wait_private, 5, &bad), EINVAL);
  CHECK_ERRNO(futex(&word, wait_private, 5, as_timeout(16)), EFAULT);

  CHECK_EQ(futex(&word, FUTEX_WAKE, 1), 0);
  CHECK_EQ(futex(&word, wake_private, INT_MAX), 0);
  CHECK_EQ(futex(&word, wake_bitset_private, INT_MAX, nullptr, nullptr, 1), 0);
  static Word other = 0;
  CHECK_EQ(futex(&word, requeue_private, 1, as_timeout(1), &other), 0);
  CHECK_EQ(futex(&word, cmp_requeue_private, 1, as_timeout(1), &other, 5), 0);
  CHECK_ERRNO(futex(&word, cmp_requeue_private, 1, as_timeout(1), &other, 6), EAGAIN);
  CHECK_ERRNO(futex(&word, cmp_requeue_private, static_cast<Word>(-1), as_timeout(1), &other, 5), EINVAL);
  CHECK_ERRNO(futex(&word, cmp_requeue_private, 1, as_timeout(static_cast<unsigned long>(-1)), &other, 5), EINVAL);
}

void test_timeouts() {
  static Word word = 1;
  for (const int milliseconds : Numbers{1, 10}) {
    const timespec relative = {0, milliseconds * 1000000};
    const int64_t begin = check_now_ns();
    CHECK_ERRNO(futex(&word, wait_private, 1, &relative), ETIMEDOUT);
    CHECK(check_now_ns() - begin >= milliseconds * 1000000);

    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += milliseconds * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    CHECK_ERRNO(futex(&word, wait_bitset_private, 1, &until, nullptr, ~0u), ETIMEDOUT);
    const int64_t target = until.tv_sec * 1000000000 + until.tv_nsec;
    CHECK(check_now_ns() >= target);

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += milliseconds * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    CHECK_ERRNO(futex(&word, wait_bitset_private | FUTEX_CLOCK_REALTIME, 1, &until, nullptr, ~0u), ETIMEDOUT);
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    CHECK(now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
  }
  constexpr timespec zero = {0, 0};
  CHECK_ERRNO(futex(&word, wait_private, 1, &zero), ETIMEDOUT);
  constexpr timespec past = {1, 0};
  CHECK_ERRNO(futex(&word, wait_bitset_private, 1, &past, nullptr, ~0u), ETIMEDOUT);
  CHECK_ERRNO(futex(&word, wait_private, 0, &zero), EAGAIN);
}

// A handled signal ends a wait with EINTR, with a timeout or without, unless the handler asks for a restart.
void test_interruption() {
  static Word word;
  static volatile sig_atomic_t handled;
  static Word done;
  struct sigaction action{};
  action.sa_handler = [](int) { handled = handled + 1; };
  CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  for (const bool limited : Flags{false, true}) {
    store(&done, 0);
    handled = 0;
    static const timespec* limit;
    limit = limited ? &long_time : nullptr;
    const pthread_t thread = start(
        [](void*) -> void* {
          CHECK_ERRNO(futex(&word, wait_private, 0, limit), EINTR);
          store(&done, 1);
          return nullptr;
        },
        nullptr);
    // A signal that comes before the wait is lost to it: repeat until the wait has ended.
    for (int tries = 0; load(&done) == 0; ++tries) {
      CHECK(tries < 10000);
      check_sleep_us(2000);
      if (load(&done) == 0) { pthread_kill(thread, SIGUSR1); }
    }
    join(thread);
    CHECK(handled > 0);
  }

  action.sa_flags = SA_RESTART;
  CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  handled = 0;
  store(&word, 0);
  const pthread_t thread = start(
      [](void*) -> void* {
        const long result = futex(&word, wait_private, 0, nullptr);
        CHECK(result == 0 || (result == -1 && errno == EAGAIN));
        CHECK_EQ(load(&word), 1);
        return nullptr;
      },
      nullptr);
  check_sleep_us(3000);
  for (int index = 0; index < 5; ++index) {
    CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
    check_sleep_us(1000);
  }
  store(&word, 1);
  futex(&word, wake_private, 1);
  join(thread);
  CHECK(handled > 0);
}

// Shared memory: one word for two processes. Private memory: the same address in two processes is two words.
void test_processes() {
  auto* shared = static_cast<Word*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(shared != MAP_FAILED);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (Word turn = 0; turn < 100; ++turn) {
      while (load(&shared[0]) == turn) {
        if (futex(&shared[0], FUTEX_WAIT, turn, &long_time) != 0 && errno != EAGAIN) { _exit(1); }
      }
      store(&shared[1], turn + 1);
      futex(&shared[1], FUTEX_WAKE, 1);
    }
    _exit(0);
  }
  for (Word turn = 0; turn < 100; ++turn) {
    store(&shared[0], turn + 1);
    futex(&shared[0], FUTEX_WAKE, 1);
    while (load(&shared[1]) == turn) {
      if (futex(&shared[1], FUTEX_WAIT, turn, &long_time) != 0) { CHECK_EQ(errno, EAGAIN); }
    }
    CHECK_EQ(load(&shared[1]), turn + 1);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);

  static Word mine;
  child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    constexpr timespec limit = {0, 30000000};
    store(&shared[2], 1);
    _exit(futex(&mine, FUTEX_WAIT, 0, &limit) == -1 && errno == ETIMEDOUT ? 0 : 1);
  }
  while (load(&shared[2]) == 0) { check_sleep_us(500); }
  for (int turn = 0; turn < 20; ++turn) {
    CHECK_EQ(futex(&mine, FUTEX_WAKE, 1), 0);
    CHECK_EQ(futex(&mine, wake_private, 1), 0);
    check_sleep_us(500);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(munmap(shared, 4096), 0);
}

// Asked to wake none, or fewer, the kernel wakes one.
void test_counts() {
  static Word word;
  static Word woken;
  for (const int count : Numbers{0, -1, INT_MIN, 1}) {
    store(&word, 0);
    store(&woken, 0);
    pthread_t threads[2];
    for (pthread_t& thread : threads) {
      thread = start(
          [](void*) -> void* {
            CHECK_EQ(futex(&word, wait_private, 0, &long_time), 0);
            __atomic_fetch_add(&woken, 1, __ATOMIC_SEQ_CST);
            return nullptr;
          },
          nullptr);
    }
    for (int tries = 0; futex(&word, wake_private, static_cast<Word>(count)) != 1; ++tries) {
      CHECK(tries < 10000);
      check_sleep_us(1000);
    }
    while (load(&woken) == 0) { check_sleep_us(500); }
    check_sleep_us(10000);
    CHECK_EQ(load(&woken), 1);
    for (int tries = 0; futex(&word, wake_bitset_private, static_cast<Word>(count), nullptr, nullptr, 1) != 1; ++tries) {
      CHECK(tries < 10000);
      check_sleep_us(1000);
    }
    for (const pthread_t thread : threads) { join(thread); }
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("futextest", argc, argv);
  test_errors();
  test_timeouts();
  test_interruption();
  test_processes();
  test_counts();
  return check_done();
}
