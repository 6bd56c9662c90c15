// eventfd and timerfd: counting, waiting, polling, errors; many threads through one counter, none of whose wake-ups is lost.

#include "tests/check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

namespace {

constexpr int64_t ms = 1000000;

short ready_of(int descriptor) {
  pollfd polled = {descriptor, POLLIN | POLLOUT, 0};
  CHECK(poll(&polled, 1, 0) >= 0);
  return polled.revents;
}

uint64_t take(int counter) {
  uint64_t value = 0;
  CHECK_EQ(read(counter, &value, sizeof value), 8);
  return value;
}

void give(int counter, uint64_t value) {
  CHECK_EQ(write(counter, &value, sizeof value), 8);
}

void test_counter() {
  const int counter = eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC);
  CHECK(counter >= 0);
  CHECK_EQ(fcntl(counter, F_GETFD), FD_CLOEXEC);
  CHECK_EQ(fcntl(counter, F_GETFL), O_RDWR | O_NONBLOCK);
  CHECK_EQ(ready_of(counter), POLLIN | POLLOUT);
  CHECK_EQ(take(counter), 3);
  CHECK_EQ(ready_of(counter), POLLOUT);
  uint64_t value = 0;
  CHECK_ERRNO(read(counter, &value, 8), EAGAIN);
  give(counter, 5);
  give(counter, 7);
  CHECK_EQ(take(counter), 12);
  give(counter, UINT64_MAX - 1);
  CHECK_EQ(ready_of(counter), POLLIN);
  value = 1;
  CHECK_ERRNO(write(counter, &value, 8), EAGAIN);
  value = UINT64_MAX;
  CHECK_ERRNO(write(counter, &value, 8), EINVAL);
  value = 0;
  CHECK_EQ(write(counter, &value, 8), 8);
  char large[16] = {};
  CHECK_EQ(read(counter, large, sizeof large), 8);
  CHECK_ERRNO(read(counter, &value, 7), EINVAL);
  CHECK_ERRNO(write(counter, &value, 4), EINVAL);
  give(counter, 9);
  CHECK_ERRNO(read(counter, reinterpret_cast<void*>(8), 8), EFAULT);
  CHECK_ERRNO(write(counter, reinterpret_cast<void*>(8), 8), EFAULT);
  CHECK_EQ(lseek(counter, 0, SEEK_CUR), 0);
  CHECK_EQ(close(counter), 0);
  CHECK_ERRNO(eventfd(0, 2), EINVAL);

  const int semaphore = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK);
  CHECK_EQ(take(semaphore), 1);
  CHECK_EQ(take(semaphore), 1);
  CHECK_ERRNO(read(semaphore, &value, 8), EAGAIN);
  CHECK_EQ(close(semaphore), 0);
}

// A writer waits while the counter is full.
void test_full() {
  static int counter;
  counter = eventfd(0, 0);
  give(counter, UINT64_MAX - 1);
  pthread_t thread;
  const auto run = [](void*) -> void* {
    check_sleep_us(30000);
    CHECK_EQ(take(counter), UINT64_MAX - 1);
    return nullptr;
  };
  CHECK_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  give(counter, 4);
  CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(take(counter), 4);
  CHECK_EQ(close(counter), 0);
}

// Everything that is given is taken, by whomever: a semaphore that threads wait on, and a counter that goes round.
void test_crowd() {
  constexpr int givers = 3, takers = 4;
  static int semaphore;
  static long each;
  static long taken;
  semaphore = eventfd(0, EFD_SEMAPHORE);
  each = 1200 * check_effort;
  taken = 0;
  const auto give_all = [](void*) -> void* {
    for (long i = 0; i < each; i += 3) {
      give(semaphore, 1);
      give(semaphore, 2);
    }
    return nullptr;
  };
  const auto take_all = [](void*) -> void* {
    for (long i = 0; i < each * givers / takers; ++i) {
      CHECK_EQ(take(semaphore), 1);
      __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
    }
    return nullptr;
  };
  pthread_t threads[givers + takers];
  for (int i = 0; i < givers + takers; ++i) {
    CHECK_EQ(pthread_create(&threads[i], nullptr, i < givers ? +give_all : +take_all, nullptr), 0);
  }
  for (pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(taken, each * givers);
  CHECK_EQ(ready_of(semaphore), POLLOUT);
  CHECK_EQ(close(semaphore), 0);
}

void test_exchange() {
  const int there = eventfd(0, 0);
  const int back = eventfd(0, 0);
  const long rounds = 700 * check_effort;
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (long i = 1; i <= rounds; ++i) {
      CHECK_EQ(take(there), i);
      give(back, static_cast<uint64_t>(i));
    }
    _exit(0);
  }
  for (long i = 1; i <= rounds; ++i) {
    give(there, static_cast<uint64_t>(i));
    CHECK_EQ(take(back), i);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(close(there), 0);
  CHECK_EQ(close(back), 0);
}

// A descriptor that is closed while a thread reads it: the thread goes on with the file that it has.
void test_close_while_waiting() {
  static int counter;
  static int other;
  counter = eventfd(0, 0);
  other = dup(counter);
  pthread_t thread;
  const auto run = [](void*) -> void* {
    CHECK_EQ(take(counter), 6);
    return nullptr;
  };
  CHECK_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  check_sleep_us(30000);
  CHECK_EQ(close(counter), 0);
  give(other, 6);
  CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(close(other), 0);
}

// ---- timerfd -----------------------------------------------------------------------------------------------------------

itimerspec spec(int64_t value_ns, int64_t interval_ns) {
  const auto time = [](int64_t ns) {
    return timespec{static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
  };
  return {time(interval_ns), time(value_ns)};
}

int64_t left_of(int timer) {
  itimerspec now = {};
  CHECK_EQ(timerfd_gettime(timer, &now), 0);
  return static_cast<int64_t>(now.it_value.tv_sec) * 1000000000 + now.it_value.tv_nsec;
}

void test_timer(int clock) {
  const int timer = timerfd_create(clock, TFD_CLOEXEC);
  CHECK(timer >= 0);
  CHECK_EQ(left_of(timer), 0);
  CHECK_EQ(ready_of(timer), 0);
  int64_t start = check_now_ns();
  itimerspec wanted = spec(20 * ms, 0);
  CHECK_EQ(timerfd_settime(timer, 0, &wanted, nullptr), 0);
  CHECK(left_of(timer) > 0 && left_of(timer) <= 20 * ms);
  CHECK_EQ(take(timer), 1);
  CHECK(check_now_ns() - start >= 20 * ms);
  CHECK_EQ(left_of(timer), 0);

  // Repeated: what is missed is counted.
  wanted = spec(10 * ms, 5 * ms);
  start = check_now_ns();
  CHECK_EQ(timerfd_settime(timer, 0, &wanted, nullptr), 0);
  check_sleep_us(40000);
  const uint64_t expiries = take(timer);
  const int64_t passed = check_now_ns() - start;
  CHECK(expiries >= 7 && static_cast<int64_t>(expiries) <= (passed - 10 * ms) / (5 * ms) + 1);
  itimerspec old = {};
  wanted = spec(0, 0);
  CHECK_EQ(timerfd_settime(timer, 0, &wanted, &old), 0);
  CHECK_EQ(old.it_interval.tv_nsec, 5 * ms);
  CHECK(old.it_value.tv_nsec > 0 && old.it_value.tv_nsec <= 5 * ms);
  CHECK_EQ(left_of(timer), 0);

  // At an instant, also one that has passed.
  timespec now = {};
  CHECK_EQ(clock_gettime(clock, &now), 0);
  wanted = {};
  wanted.it_value = now;
  wanted.it_value.tv_sec += 1000;
  CHECK_EQ(timerfd_settime(timer, TFD_TIMER_ABSTIME, &wanted, nullptr), 0);
  CHECK(left_of(timer) > 990000 * ms && left_of(timer) <= 1000000 * ms);
  wanted.it_value = now;
  CHECK_EQ(timerfd_settime(timer, TFD_TIMER_ABSTIME, &wanted, nullptr), 0);
  CHECK_EQ(take(timer), 1);
  pollfd polled = {timer, POLLIN, 0};
  wanted = spec(10 * ms, 0);
  CHECK_EQ(timerfd_settime(timer, 0, &wanted, nullptr), 0);
  CHECK_EQ(poll(&polled, 1, 20000), 1);
  CHECK_EQ(polled.revents, POLLIN);
  CHECK_EQ(timerfd_settime(timer, 0, &wanted, nullptr), 0);  // setting forgets what has expired
  CHECK_EQ(ready_of(timer), 0);

  // As late as there is: it is on still.
  wanted = {};
  wanted.it_value.tv_sec = INT64_MAX;
  const int ways[] = {0, TFD_TIMER_ABSTIME};
  for (const int way : ways) {
    CHECK_EQ(timerfd_settime(timer, way, &wanted, nullptr), 0);
    itimerspec left = {};
    CHECK_EQ(timerfd_gettime(timer, &left), 0);
    CHECK(left.it_value.tv_sec > 1'000'000'000);
    CHECK_EQ(ready_of(timer), 0);
  }
  CHECK_EQ(close(timer), 0);
}

void test_timer_errors() {
  CHECK_ERRNO(timerfd_create(CLOCK_THREAD_CPUTIME_ID, 0), EINVAL);
  CHECK_ERRNO(timerfd_create(CLOCK_MONOTONIC, 1), EINVAL);
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  itimerspec wanted = spec(1, 0);
  CHECK_ERRNO(timerfd_settime(timer, 8, &wanted, nullptr), EINVAL);
  wanted.it_value.tv_nsec = 1000000000;
  CHECK_ERRNO(timerfd_settime(timer, 0, &wanted, nullptr), EINVAL);
  CHECK_ERRNO(timerfd_settime(timer, 0, reinterpret_cast<itimerspec*>(8), nullptr), EFAULT);
  CHECK_ERRNO(timerfd_gettime(timer, reinterpret_cast<itimerspec*>(8)), EFAULT);
  uint64_t value = 0;
  CHECK_ERRNO(read(timer, &value, 8), EAGAIN);
  CHECK_ERRNO(read(timer, &value, 4), EINVAL);
  CHECK_ERRNO(write(timer, &value, 8), EINVAL);
  CHECK_EQ(close(timer), 0);
  wanted = spec(1, 0);
  CHECK_ERRNO(timerfd_settime(timer, 0, &wanted, nullptr), EBADF);
  CHECK_ERRNO(timerfd_settime(0, 0, &wanted, nullptr), EINVAL);
}

// Many threads set one timer, from whichever core they run on: it expires by the last setting, and nothing is left behind.
void test_timer_shared() {
  static int timer;
  timer = timerfd_create(CLOCK_MONOTONIC, 0);
  constexpr int crowd = 4;
  pthread_t threads[crowd];
  const auto run = [](void* argument) -> void* {
    const int64_t own = static_cast<int64_t>(reinterpret_cast<uintptr_t>(argument));
    for (long i = 0; i < 300 * check_effort; ++i) {
      const itimerspec wanted = spec(((i * 7 + own * 13) % 50 + 20) * 1000 * ms, 0);
      CHECK_EQ(timerfd_settime(timer, 0, &wanted, nullptr), 0);
      const int brief = timerfd_create(CLOCK_MONOTONIC, 0);
      CHECK(brief >= 0);
      CHECK_EQ(timerfd_settime(brief, 0, &wanted, nullptr), 0);
      CHECK_EQ(close(brief), 0);
    }
    return nullptr;
  };
  for (uintptr_t i = 0; i < crowd; ++i) CHECK_EQ(pthread_create(&threads[i], nullptr, run, reinterpret_cast<void*>(i)), 0);
  for (pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(ready_of(timer), 0);
  const itimerspec soon = spec(5 * ms, 0);
  CHECK_EQ(timerfd_settime(timer, 0, &soon, nullptr), 0);
  CHECK_EQ(take(timer), 1);
  CHECK_EQ(close(timer), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("eventtest", argc, argv);
  test_counter();
  test_full();
  test_crowd();
  test_exchange();
  test_close_while_waiting();
  test_timer(CLOCK_MONOTONIC);
  test_timer(CLOCK_REALTIME);
  test_timer(CLOCK_BOOTTIME);
  test_timer_errors();
  test_timer_shared();
  return check_done();
}
