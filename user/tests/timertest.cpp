// Timers that send signals: timer_create with every kind of notification, overruns, re-arming, deletion; the three interval
// timers; what fork and exec do to them.

#include "tests/signals.h"

#include <pthread.h>
#include <sys/time.h>
#include <time.h>

using namespace signals;

namespace {

constexpr int code_timer = -2;
using Kinds = const int[];

// Straight to the kernel: the C library has threads of its own for some of it.
struct Event {
  void* value;
  int signal, notify, thread;
  char rest[64 - 20];
};
static_assert(sizeof(Event) == 64);

long create(clockid_t clock, const Event* event, int* timer) {
  return syscall(SYS_timer_create, clock, event, timer);
}
long set(int timer, int flags, const itimerspec& wanted, itimerspec* old = nullptr) {
  return syscall(SYS_timer_settime, timer, flags, &wanted, old);
}
long ask(int timer, itimerspec& now) {
  return syscall(SYS_timer_gettime, timer, &now);
}
long end(int timer) {
  return syscall(SYS_timer_delete, timer);
}

itimerspec every(long first_ms, long interval_ms) {
  return {{interval_ms / 1000, interval_ms % 1000 * 1000000}, {first_ms / 1000, first_ms % 1000 * 1000000}};
}

template <typename Condition>
void await(Condition condition) {
  for (int tries = 0; !condition(); ++tries) {
    CHECK(tries < 10000);
    check_sleep_us(1000);
  }
}

void test_signals() {
  on_info(SIGRTMIN, keep_info, SA_RESTART);
  Event event{};
  event.value = reinterpret_cast<void*>(0x1234567);
  event.signal = SIGRTMIN;
  int timer = -1;
  CHECK_EQ(create(CLOCK_MONOTONIC, &event, &timer), 0);
  CHECK(timer >= 0);
  itimerspec now{};
  CHECK_EQ(ask(timer, now), 0);
  CHECK_EQ(now.it_value.tv_sec + now.it_value.tv_nsec, 0);
  handled = 0;
  const int64_t start = check_now_ns();
  CHECK_EQ(set(timer, 0, every(30, 0)), 0);
  await([] { return handled == 1; });
  CHECK(check_now_ns() - start >= 30000000);
  CHECK_EQ(last_info.si_signo, SIGRTMIN);
  CHECK_EQ(last_info.si_code, code_timer);
  CHECK_EQ(last_info.si_timerid, timer);
  CHECK_EQ(last_info.si_overrun, 0);
  CHECK_EQ(last_info.si_value.sival_ptr == reinterpret_cast<void*>(0x1234567), 1);
  CHECK_EQ(ask(timer, now), 0);
  CHECK_EQ(now.it_value.tv_sec + now.it_value.tv_nsec, 0);
  // Again and again; stopped by zero.
  handled = 0;
  CHECK_EQ(set(timer, 0, every(5, 5)), 0);
  await([] { return handled >= 5; });
  itimerspec old{};
  CHECK_EQ(set(timer, 0, every(0, 0), &old), 0);
  CHECK_EQ(old.it_interval.tv_nsec, 5000000);
  const int seen = handled;
  check_sleep_us(30000);
  CHECK_EQ(handled, seen);
  // At an instant, which may be over.
  handled = 0;
  itimerspec at{};
  clock_gettime(CLOCK_MONOTONIC, &at.it_value);
  CHECK_EQ(set(timer, TIMER_ABSTIME, at), 0);
  await([] { return handled == 1; });
  CHECK_EQ(end(timer), 0);
  CHECK_ERRNO(end(timer), EINVAL);
  CHECK_ERRNO(ask(timer, now), EINVAL);
}

void test_errors() {
  int timer = -1;
  Event event{};
  event.signal = SIGUSR1;
  CHECK_ERRNO(create(77, &event, &timer), EINVAL);
  CHECK_ERRNO(create(CLOCK_MONOTONIC, &event, reinterpret_cast<int*>(16)), EFAULT);
  event.signal = 65;
  CHECK_ERRNO(create(CLOCK_MONOTONIC, &event, &timer), EINVAL);
  event.signal = SIGUSR1;
  event.notify = 3;
  CHECK_ERRNO(create(CLOCK_MONOTONIC, &event, &timer), EINVAL);
  event.notify = 4;  // to a thread
  event.thread = 1;
  if (getpid() != 1) { CHECK_ERRNO(create(CLOCK_MONOTONIC, &event, &timer), EINVAL); }
  event.notify = SIGEV_NONE;
  CHECK_EQ(create(CLOCK_REALTIME, &event, &timer), 0);
  CHECK_ERRNO(syscall(SYS_timer_settime, timer, 0, nullptr, nullptr), EINVAL);
  CHECK_ERRNO(set(timer, 0, {{0, 1000000000}, {1, 0}}), EINVAL);
  CHECK_ERRNO(set(timer, 0, {{0, 0}, {-1, 0}}), EINVAL);
  CHECK_ERRNO(syscall(SYS_timer_getoverrun, timer + 1000), EINVAL);
  // Asked, not told.
  CHECK_EQ(set(timer, 0, every(20000, 0)), 0);
  itimerspec now{};
  CHECK_EQ(ask(timer, now), 0);
  CHECK(now.it_value.tv_sec == 19 || now.it_value.tv_sec == 20);
  CHECK_EQ(end(timer), 0);
}

// While its signal is blocked a timer counts how often it passed, and sends it once.
void test_overruns() {
  const sigset_t signal = only(SIGRTMIN + 1);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &signal, nullptr), 0);
  Event event{};
  event.signal = SIGRTMIN + 1;
  int timer = -1;
  CHECK_EQ(create(CLOCK_MONOTONIC, &event, &timer), 0);
  CHECK_EQ(set(timer, 0, every(1, 1)), 0);
  check_sleep_us(100000);
  siginfo_t info{};
  CHECK_EQ(sigwaitinfo(&signal, &info), SIGRTMIN + 1);
  CHECK(info.si_overrun >= 90);
  CHECK_EQ(syscall(SYS_timer_getoverrun, timer), info.si_overrun);
  CHECK_EQ(sigwaitinfo(&signal, &info), SIGRTMIN + 1);
  CHECK_EQ(end(timer), 0);
  // A pending signal of a timer that was deleted: gone, or there, but never more than once.
  const timespec none{};
  int left = 0;
  while (syscall(SYS_rt_sigtimedwait, &signal, &info, &none, 8) > 0) { ++left; }
  CHECK(left <= 1);
  CHECK_EQ(sigprocmask(SIG_UNBLOCK, &signal, nullptr), 0);
}

// The tiniest interval leaves the program time for itself.
void test_tiny_interval() {
  on(SIGRTMIN + 2, count_signal, SA_RESTART);
  Event event{};
  event.signal = SIGRTMIN + 2;
  int timer = -1;
  CHECK_EQ(create(CLOCK_MONOTONIC, &event, &timer), 0);
  handled = 0;
  const sigset_t signal = only(SIGRTMIN + 2);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &signal, nullptr), 0);
  CHECK_EQ(set(timer, 0, {{0, 1}, {0, 1}}), 0);
  check_sleep_us(20000);
  siginfo_t info{};
  CHECK_EQ(sigwaitinfo(&signal, &info), SIGRTMIN + 2);
  CHECK(info.si_overrun >= 1000);
  CHECK_EQ(end(timer), 0);
  on(SIGRTMIN + 2, SIG_IGN);
  CHECK_EQ(sigprocmask(SIG_UNBLOCK, &signal, nullptr), 0);
}

void test_to_thread() {
  static volatile pid_t receiver;
  static volatile int count;
  struct sigaction action{};
  action.sa_handler = [](int) {
    receiver = thread_number();
    count = count + 1;
  };
  CHECK_EQ(sigaction(SIGRTMIN, &action, nullptr), 0);
  static volatile pid_t number;
  static volatile bool stop;
  pthread_t thread{};
  CHECK_EQ(pthread_create(
               &thread, nullptr,
               [](void*) -> void* {
                 number = thread_number();
                 while (!stop) { check_sleep_us(1000); }
                 return nullptr;
               },
               nullptr),
           0);
  await([] { return number != 0; });
  Event event{};
  event.signal = SIGRTMIN;
  event.notify = 4;
  event.thread = number;
  int timer = -1;
  CHECK_EQ(create(CLOCK_MONOTONIC, &event, &timer), 0);
  CHECK_EQ(set(timer, 0, every(5, 5)), 0);
  await([] { return count >= 3; });
  CHECK_EQ(receiver, number);
  stop = true;
  CHECK_EQ(pthread_join(thread, nullptr), 0);
  const int seen = count;  // nobody is left to tell
  check_sleep_us(30000);
  CHECK(count <= seen + 1);
  CHECK_EQ(end(timer), 0);
}

// By processor time: of the process and of one thread.
void test_processor_time() {
  on_info(SIGRTMIN, keep_info, SA_RESTART);
  for (const int clock : Kinds{CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID}) {
    Event event{};
    event.signal = SIGRTMIN;
    int timer = -1;
    CHECK_EQ(create(clock, &event, &timer), 0);
    handled = 0;
    CHECK_EQ(set(timer, 0, every(20, 20)), 0);
    for (long turn = 0; handled < 3; ++turn) {
      CHECK(turn < 1000000);
      check_spin(100000);
    }
    CHECK_EQ(last_info.si_code, code_timer);
    CHECK_EQ(set(timer, 0, every(5000, 0)), 0);
    check_sleep_us(20000);
    itimerspec now{};
    CHECK_EQ(ask(timer, now), 0);
    CHECK(now.it_value.tv_sec == 4 || now.it_value.tv_sec == 5);
    // Used already.
    handled = 0;
    itimerspec over{};
    over.it_value.tv_nsec = 1;
    CHECK_EQ(set(timer, TIMER_ABSTIME, over), 0);
    for (long turn = 0; handled < 1; ++turn) {
      CHECK(turn < 1000000);
      check_spin(100000);
    }
    CHECK_EQ(end(timer), 0);
  }
  int timer = -1;
  CHECK_ERRNO(create(CLOCK_MONOTONIC_RAW, nullptr, &timer), EOPNOTSUPP);
  CHECK_ERRNO(create(CLOCK_MONOTONIC_COARSE, nullptr, &timer), EOPNOTSUPP);
  CHECK_ERRNO(create(~0x3fffff << 3 | 2, nullptr, &timer), EINVAL);
}

void test_many() {
  static volatile int counts[64];
  on_info(
      SIGRTMIN, [](int, siginfo_t* info, void*) { counts[info->si_value.sival_int] = counts[info->si_value.sival_int] + 1; },
      SA_RESTART);
  int timers[64];
  for (int index = 0; index < 64; ++index) {
    Event event{};
    event.value = reinterpret_cast<void*>(static_cast<long>(index));
    event.signal = SIGRTMIN;
    CHECK_EQ(create(CLOCK_REALTIME, &event, &timers[index]), 0);
    CHECK_EQ(set(timers[index], 0, every(1 + index % 7, 3 + index % 5)), 0);
  }
  await([] {
    for (const int count : counts) {
      if (count < 3) { return false; }
    }
    return true;
  });
  for (const int timer : timers) { CHECK_EQ(end(timer), 0); }
}

void test_interval_timers() {
  on(SIGALRM, count_signal, SA_RESTART);
  on(SIGVTALRM, count_signal);
  on(SIGPROF, count_signal);
  itimerval wanted{{0, 10000}, {0, 10000}};
  handled = 0;
  CHECK_EQ(setitimer(ITIMER_REAL, &wanted, nullptr), 0);
  await([] { return handled >= 3; });
  itimerval old{};
  wanted = {};
  CHECK_EQ(setitimer(ITIMER_REAL, &wanted, &old), 0);
  CHECK_EQ(old.it_interval.tv_usec, 10000);
  CHECK_EQ(alarm(100), 0);
  CHECK_EQ(alarm(0), 100);
  for (const int kind : Kinds{ITIMER_VIRTUAL, ITIMER_PROF}) {
    wanted = {{0, 20000}, {0, 20000}};
    handled = 0;
    CHECK_EQ(setitimer(kind, &wanted, nullptr), 0);
    for (long turn = 0; handled < 3; ++turn) {
      CHECK(turn < 1000000);
      check_spin(100000);
    }
    CHECK_EQ(getitimer(kind, &old), 0);
    CHECK_EQ(old.it_interval.tv_usec, 20000);
    CHECK(old.it_value.tv_sec == 0 && old.it_value.tv_usec <= 24000);
    // Sleeping uses no time.
    wanted = {{0, 0}, {5, 0}};
    CHECK_EQ(setitimer(kind, &wanted, nullptr), 0);
    check_sleep_us(50000);
    CHECK_EQ(getitimer(kind, &old), 0);
    CHECK(old.it_value.tv_sec >= 4);
    wanted = {};
    CHECK_EQ(setitimer(kind, &wanted, nullptr), 0);
    CHECK_EQ(getitimer(kind, &old), 0);
    CHECK_EQ(old.it_value.tv_sec + old.it_value.tv_usec, 0);
  }
  wanted = {{0, 1000000}, {1, 0}};
  CHECK_ERRNO(setitimer(ITIMER_REAL, &wanted, nullptr), EINVAL);
  CHECK_ERRNO(syscall(SYS_setitimer, 3, nullptr, nullptr), EINVAL);
}

// An interval that ends beyond all times: such a timer passes once.
void test_endless_intervals() {
  using Intervals = const long[];
  constexpr long longest = INT64_MAX / 1000000000;  // seconds, in nanoseconds
  on(SIGRTMIN, count_signal, SA_RESTART);
  Event event{};
  event.signal = SIGRTMIN;
  for (const int clock : Kinds{CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_PROCESS_CPUTIME_ID}) {
    for (const long interval : Intervals{longest - 1, longest, INT64_MAX}) {
      int timer = -1;
      CHECK_EQ(create(clock, &event, &timer), 0);
      handled = 0;
      CHECK_EQ(set(timer, 0, {{interval, 0}, {0, 1000000}}), 0);
      for (long turn = 0; handled < 1; ++turn) {
        CHECK(turn < 1000000);
        check_spin(100000);
      }
      for (const int64_t end = check_now_ns() + 20000000; check_now_ns() < end;) { check_spin(10000); }
      CHECK_EQ(handled, 1);
      itimerspec now{};
      CHECK_EQ(ask(timer, now), 0);
      CHECK(now.it_value.tv_sec > longest / 2 || clock == CLOCK_REALTIME);  // by wall time it ends sooner
      CHECK_EQ(end(timer), 0);
    }
  }
  on(SIGALRM, count_signal, SA_RESTART);
  on(SIGVTALRM, count_signal, SA_RESTART);
  for (const int kind : Kinds{ITIMER_REAL, ITIMER_VIRTUAL}) {
    itimerval wanted{{longest, 0}, {0, 1000}};
    handled = 0;
    CHECK_EQ(setitimer(kind, &wanted, nullptr), 0);
    for (long turn = 0; handled < 1; ++turn) {
      CHECK(turn < 1000000);
      check_spin(100000);
    }
    for (const int64_t end = check_now_ns() + 20000000; check_now_ns() < end;) { check_spin(10000); }
    CHECK_EQ(handled, 1);
    wanted = {};
    CHECK_EQ(setitimer(kind, &wanted, nullptr), 0);
  }
}

// A child has none of its parent's timers.
void test_fork() {
  on(SIGALRM, SIG_DFL);
  alarm(60);
  Event event{};
  event.signal = SIGRTMIN;
  int timer = -1;
  CHECK_EQ(create(CLOCK_MONOTONIC, &event, &timer), 0);
  const int status = status_of_child([&] {
    itimerspec now{};
    CHECK_ERRNO(ask(timer, now), EINVAL);
    CHECK_EQ(alarm(0), 0);
    return 0;
  });
  CHECK_EQ(status, 0);
  CHECK(alarm(0) > 50);
  CHECK_EQ(end(timer), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("timertest", argc, argv);
  test_signals();
  test_errors();
  test_overruns();
  test_tiny_interval();
  test_to_thread();
  test_processor_time();
  test_many();
  test_interval_timers();
  test_endless_intervals();
  test_fork();
  return check_done();
}
