// Clocks and sleeping: time never runs backwards, on one core or seen from one core to the next; sleeps are never
// early; absolute sleeps; processor-time clocks count computing and not sleeping; the errors.

#include "tests/check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>

namespace {

constexpr int64_t second = 1000000000;

int64_t nanoseconds(const timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * second + time.tv_nsec;
}

int64_t read_clock(clockid_t clock) {
  timespec time{};
  CHECK_EQ(clock_gettime(clock, &time), 0);
  CHECK(time.tv_nsec >= 0 && time.tv_nsec < second);
  return nanoseconds(time);
}

int64_t read_by_call(clockid_t clock) {
  timespec time{};
  CHECK_EQ(syscall(SYS_clock_gettime, clock, &time), 0);
  return nanoseconds(time);
}

void test_clocks() {
  using Clocks = const clockid_t[];
  for (const clockid_t clock :
       Clocks{CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE,
              CLOCK_REALTIME_COARSE, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID}) {
    const int64_t first = read_clock(clock);
    const int64_t second_reading = read_clock(clock);
    CHECK(second_reading >= first);
    timespec resolution{};
    CHECK_EQ(clock_getres(clock, &resolution), 0);
    CHECK(resolution.tv_sec == 0 && resolution.tv_nsec > 0);
  }
    // The library's way, perhaps without a system call, and the call itself agree.
  for (int turn = 0; turn < 100; ++turn) {
    const int64_t before = read_clock(CLOCK_MONOTONIC);
    const int64_t by_call = read_by_call(CLOCK_MONOTONIC);
    const int64_t after = read_clock(CLOCK_MONOTONIC);
    CHECK(before <= by_call);
    CHECK(by_call <= after);
  }
  timeval day{};
  const int64_t before = read_clock(CLOCK_REALTIME) / 1000;
  CHECK_EQ(gettimeofday(&day, nullptr), 0);
  const int64_t now = static_cast<int64_t>(day.tv_sec) * 1000000 + day.tv_usec;
  CHECK(now >= before);
  CHECK(now - before < 10000000);
  const time_t seconds = time(nullptr);
  CHECK(seconds - day.tv_sec >= -1 && seconds - day.tv_sec < 10);

  timespec time{};
  CHECK_ERRNO(syscall(SYS_clock_gettime, 100, &time), EINVAL);
  CHECK_ERRNO(syscall(SYS_clock_getres, 100, &time), EINVAL);
}

void test_sleep() {
  using Times = const int64_t[];
  for (const int64_t length : Times{0, 1000, 1000000, 10000000, 30000000}) {
    const timespec request = {0, length};
    int64_t begin = read_clock(CLOCK_MONOTONIC);
    CHECK_EQ(nanosleep(&request, nullptr), 0);
    CHECK(read_clock(CLOCK_MONOTONIC) - begin >= length);

    begin = read_clock(CLOCK_MONOTONIC);
    CHECK_EQ(clock_nanosleep(CLOCK_REALTIME, 0, &request, nullptr), 0);
    CHECK(read_clock(CLOCK_MONOTONIC) - begin >= length);

    const int64_t target = read_clock(CLOCK_MONOTONIC) + length;
    const timespec until = {target / second, target % second};
    CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr), 0);
    CHECK(read_clock(CLOCK_MONOTONIC) >= target);
  }
  const timespec past = {1, 0};
  const int64_t begin = read_clock(CLOCK_MONOTONIC);
  CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, nullptr), 0);
  CHECK(read_clock(CLOCK_MONOTONIC) - begin < second);

  timespec bad = {0, second};
  CHECK_ERRNO(nanosleep(&bad, nullptr), EINVAL);
  bad = {0, -1};
  CHECK_ERRNO(nanosleep(&bad, nullptr), EINVAL);
  bad = {-1, 0};
  CHECK_ERRNO(nanosleep(&bad, nullptr), EINVAL);
  bad = {0, 0};
  CHECK_EQ(clock_nanosleep(100, 0, &bad, nullptr), EINVAL);
}

// A handled signal ends a sleep early, and the remainder is what is missing.
void test_interrupted_sleep() {
  static volatile bool done;
  struct sigaction action{};
  action.sa_handler = [](int) {};
  CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  pthread_t thread{};
  CHECK_EQ(pthread_create(
               &thread, nullptr,
               [](void*) -> void* {
                 constexpr timespec request = {100, 0};
                 timespec left{};
                 const int64_t begin = read_clock(CLOCK_MONOTONIC);
                 CHECK_ERRNO(nanosleep(&request, &left), EINTR);
                 const int64_t slept = read_clock(CLOCK_MONOTONIC) - begin;
                 CHECK(nanoseconds(left) + slept >= 100 * second);
                 CHECK(nanoseconds(left) <= 100 * second);
                 CHECK(nanoseconds(left) > 50 * second);
                 done = true;
                 return nullptr;
               },
               nullptr),
           0);
  for (int tries = 0; !done; ++tries) {
    CHECK(tries < 10000);
    check_sleep_us(2000);
    if (!done) { pthread_kill(thread, SIGUSR1); }
  }
  CHECK_EQ(pthread_join(thread, nullptr), 0);
}

// Many threads on all cores: a time that anyone has published must not lie in anyone's future.

int64_t latest;
int64_t end_time;

void* watch_clock(void* argument) {
  const bool by_call = argument != nullptr;
  uintptr_t readings = 0;
  while (true) {
    const int64_t before = __atomic_load_n(&latest, __ATOMIC_SEQ_CST);
    const int64_t now = by_call ? read_by_call(CLOCK_MONOTONIC) : read_clock(CLOCK_MONOTONIC);
    if (now < before) {
      CHECK_EQ(now, before);  // fails: the clock ran backwards between cores
    }
    int64_t old = before;
    while (old < now && !__atomic_compare_exchange_n(&latest, &old, now, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    ++readings;
    if (now >= end_time) { return reinterpret_cast<void*>(readings); }
    if (readings % 500 == 0) { check_sleep_us(100); }
  }
}

void test_across_cores() {
  end_time = read_clock(CLOCK_MONOTONIC) + 300000000 * check_effort;
  pthread_t threads[8];
  for (uintptr_t index = 0; index < 8; ++index) {
    CHECK_EQ(pthread_create(&threads[index], nullptr, watch_clock, reinterpret_cast<void*>(index % 2)), 0);
  }
  for (const auto thread : threads) {
    void* readings = nullptr;
    CHECK_EQ(pthread_join(thread, &readings), 0);
    CHECK(readings != nullptr);
  }
}

void test_processor_time() {
  const int64_t process = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  const int64_t thread = read_clock(CLOCK_THREAD_CPUTIME_ID);
  const int64_t wall = read_clock(CLOCK_MONOTONIC);
  while (read_clock(CLOCK_THREAD_CPUTIME_ID) - thread < 10000000) {
    check_spin(1000);
    CHECK(read_clock(CLOCK_MONOTONIC) - wall < 60 * second);
  }
  CHECK(read_clock(CLOCK_PROCESS_CPUTIME_ID) - process >= 9000000);
  CHECK(read_clock(CLOCK_MONOTONIC) - wall >= 9000000);

  const int64_t before = read_clock(CLOCK_THREAD_CPUTIME_ID);
  check_sleep_us(50000);
  CHECK(read_clock(CLOCK_THREAD_CPUTIME_ID) - before < 25000000);
}

// Sleepers with different lengths come back in the order of their lengths' ends, none early.
void test_many_sleepers() {
  struct Sleeper {
    pthread_t thread;
    int64_t target;
  };
  static Sleeper sleepers[32];
  const int64_t begin = read_clock(CLOCK_MONOTONIC);
  for (int index = 0; index < 32; ++index) {
    sleepers[index].target = begin + 1000000 * (1 + index * 7 % 32);
    CHECK_EQ(pthread_create(
                 &sleepers[index].thread, nullptr,
                 [](void* argument) -> void* {
                   const int64_t target = static_cast<Sleeper*>(argument)->target;
                   const timespec until = {target / second, target % second};
                   CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr), 0);
                   CHECK(read_clock(CLOCK_MONOTONIC) >= target);
                   return nullptr;
                 },
                 &sleepers[index]),
             0);
  }
  for (const auto& sleeper : sleepers) { CHECK_EQ(pthread_join(sleeper.thread, nullptr), 0); }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("timetest", argc, argv);
  test_clocks();
  test_sleep();
  test_interrupted_sleep();
  test_across_cores();
  test_processor_time();
  test_many_sleepers();
  return check_done();
}
