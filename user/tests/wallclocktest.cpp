// Who waits for a moment of wall time waits for what the wall clock says, however it is set meanwhile; who waits for a length of
// time does not care. Sleeps, futexes, message queues, timers as files and timers that send signals. Needs the right to set the clock.

#include "tests/futex_call.h"
#include "tests/signals.h"

#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/wait.h>

using namespace signals;

namespace {

constexpr int64_t billion = 1'000'000'000, second = billion, minute = 60 * second, day = 24 * 60 * minute;
constexpr int cancel_on_set = 2;  // TFD_TIMER_CANCEL_ON_SET
constexpr int lock_pi_private = 6 | futex_call::FUTEX_PRIVATE_FLAG;

int64_t now_ns(clockid_t clock) {
  timespec time;
  CHECK_EQ(clock_gettime(clock, &time), 0);
  return time.tv_sec * billion + time.tv_nsec;
}

timespec spec(int64_t ns) {
  return {ns / billion, ns % billion};
}

void move_clock(int64_t ns) {
  const timespec wanted = spec(now_ns(CLOCK_REALTIME) + ns);
  CHECK_EQ(syscall(SYS_clock_settime, CLOCK_REALTIME, &wanted), 0);
}

// How each waits until a moment of wall time: true when that was reached.
bool sleep_until(int64_t moment) {
  const timespec when = spec(moment);
  return syscall(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &when, nullptr) == 0;
}
bool futex_until(int64_t moment) {
  static uint32_t word = 0;
  const timespec when = spec(moment);
  return syscall(SYS_futex, &word,
                 futex_call::FUTEX_WAIT_BITSET | futex_call::FUTEX_PRIVATE_FLAG | futex_call::FUTEX_CLOCK_REALTIME, 0, &when,
                 nullptr, ~0u) == -1 &&
         errno == ETIMEDOUT;
}
bool mutex_until(int64_t moment) {
  static uint32_t word = static_cast<uint32_t>(getpid());  // the main thread has it, and waits for this one
  const timespec when = spec(moment);
  return syscall(SYS_futex, &word, lock_pi_private, 0, &when, nullptr, 0) == -1 && errno == ETIMEDOUT;
}
bool message_until(int64_t moment) {
  mq_attr attributes{};
  attributes.mq_maxmsg = 1;
  attributes.mq_msgsize = 8;
  const mqd_t queue = mq_open("/wallclocktest", O_RDWR | O_CREAT, 0600, &attributes);
  CHECK(queue >= 0);
  char text[8];
  const timespec when = spec(moment);
  const bool timed_out = mq_timedreceive(queue, text, sizeof text, nullptr, &when) == -1 && errno == ETIMEDOUT;
  CHECK_EQ(mq_close(queue), 0);
  CHECK_EQ(mq_unlink("/wallclocktest"), 0);
  return timed_out;
}
bool file_until(int64_t moment) {
  const int file = timerfd_create(CLOCK_REALTIME, 0);
  const itimerspec when = {{}, spec(moment)};
  CHECK_EQ(timerfd_settime(file, TFD_TIMER_ABSTIME, &when, nullptr), 0);
  uint64_t passed = 0;
  const bool read_one = read(file, &passed, sizeof passed) == sizeof passed && passed == 1;
  CHECK_EQ(close(file), 0);
  return read_one;
}
bool signal_until(int64_t moment) {
  struct {
    void* value;
    int signal, notify, thread;
    char rest[64 - 20];
  } event = {nullptr, SIGRTMIN + 1, 4 /* SIGEV_THREAD_ID */, static_cast<int>(syscall(SYS_gettid)), {}};
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 1);
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  int timer = -1;
  CHECK_EQ(syscall(SYS_timer_create, CLOCK_REALTIME, &event, &timer), 0);
  const itimerspec when = {{}, spec(moment)};
  CHECK_EQ(syscall(SYS_timer_settime, timer, TIMER_ABSTIME, &when, nullptr), 0);
  const bool taken = sigwaitinfo(&set, nullptr) == SIGRTMIN + 1;
  CHECK_EQ(syscall(SYS_timer_delete, timer), 0);
  return taken;
}
constexpr bool (*ways[])(int64_t) = {sleep_until, futex_until, mutex_until, message_until, file_until, signal_until};

// Until the thread of this number sleeps, as far as /proc tells.
void await_sleep(int thread) {
  char name[64];
  snprintf(name, sizeof name, "/proc/self/task/%d/stat", thread);
  for (char state = 0; state != 'S'; check_sleep_us(1000)) {
    FILE* const file = fopen(name, "r");
    CHECK(file != nullptr);
    CHECK_EQ(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
    fclose(file);
  }
}

// A thread that runs `work`, which must live as long.
template <typename Work>
struct Thread {
  Work work;
  int id = 0;
  pthread_t handle{};
  void start() {
    const auto run = [](void* self) -> void* {
      Thread& thread = *static_cast<Thread*>(self);
      __atomic_store_n(&thread.id, static_cast<int>(syscall(SYS_gettid)), __ATOMIC_SEQ_CST);
      thread.work();
      return nullptr;
    };
    CHECK_EQ(pthread_create(&handle, nullptr, run, this), 0);
  }
  void join() { CHECK_EQ(pthread_join(handle, nullptr), 0); }
  void await_sleep() {
    while (__atomic_load_n(&id, __ATOMIC_SEQ_CST) == 0) { check_sleep_us(100); }
    ::await_sleep(id);
  }
};

// Runs `wait` in a thread, `meanwhile` once it sleeps.
template <typename Wait, typename Meanwhile>
void during(Wait wait, Meanwhile meanwhile) {
  Thread<Wait> waiting{wait};
  waiting.start();
  waiting.await_sleep();
  meanwhile();
  waiting.join();
}

// Tomorrow comes at once when the clock is set to it. What goes wrong here does not end.
void test_set_forward() {
  for (const auto way : ways) {
    during([&] { CHECK(way(now_ns(CLOCK_REALTIME) + day)); }, [] { move_clock(2 * day); });
    move_clock(-2 * day);
  }
}

void test_set_back() {
  for (const auto way : ways) {
    const int64_t moment = now_ns(CLOCK_REALTIME) + second / 2;
    during(
        [&] {
          CHECK(way(moment));
          CHECK(now_ns(CLOCK_REALTIME) >= moment);
        },
        [] { move_clock(-second / 2); });
    move_clock(second / 2);
  }
}

struct OneOfMany {
  int number;
  int64_t moment;
  int* left;
  void operator()() const {
    constexpr bool (*alone[])(int64_t) = {sleep_until, futex_until, file_until, signal_until};
    CHECK(alone[number % 4](moment));
    CHECK(now_ns(CLOCK_REALTIME) >= moment);
    __atomic_fetch_sub(left, 1, __ATOMIC_SEQ_CST);
  }
};

// The clock is set again and again, while many wait on all cores; all are there when their moment has come.
void test_set_often() {
  constexpr int count = 48;
  const int64_t tomorrow = now_ns(CLOCK_REALTIME) + day;
  int left = count;
  static Thread<OneOfMany> threads[count];
  for (int i = 0; i < count; ++i) {
    threads[i] = {{i, tomorrow + i * minute, &left}};
    threads[i].start();
  }
  for (int i = 0; i < 300; ++i) { move_clock(i % 2 == 0 ? second : -second); }
  CHECK_EQ(__atomic_load_n(&left, __ATOMIC_SEQ_CST), count);
  move_clock(day);
  for (Thread<OneOfMany>& thread : threads) {
    move_clock(minute);
    thread.join();
  }
  move_clock(-day - count * minute);
}

void test_lengths_of_time() {
  constexpr int64_t length = second / 5;
  const int64_t begin = now_ns(CLOCK_MONOTONIC);
  const int file = timerfd_create(CLOCK_REALTIME, 0);
  const itimerspec passing = {{}, spec(length)};
  CHECK_EQ(timerfd_settime(file, 0, &passing, nullptr), 0);
  during(
      [&] {
        const timespec wait = spec(length);
        CHECK_EQ(syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 0, &wait, nullptr), 0);
        CHECK(now_ns(CLOCK_MONOTONIC) - begin >= length);
      },
      [] { move_clock(day); });
  uint64_t passed = 0;
  CHECK_EQ(read(file, &passed, sizeof passed), static_cast<ssize_t>(sizeof passed));
  CHECK(now_ns(CLOCK_MONOTONIC) - begin >= length);
  move_clock(-day);
  CHECK_EQ(close(file), 0);
}

void test_repeated() {
  const int file = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
  const itimerspec hourly = {spec(60 * minute), spec(now_ns(CLOCK_REALTIME) + 60 * minute)};
  CHECK_EQ(timerfd_settime(file, TFD_TIMER_ABSTIME, &hourly, nullptr), 0);
  move_clock(150 * minute);
  pollfd polled = {file, POLLIN, 0};
  CHECK_EQ(poll(&polled, 1, -1), 1);
  uint64_t passed = 0;
  CHECK_EQ(read(file, &passed, sizeof passed), static_cast<ssize_t>(sizeof passed));
  CHECK_EQ(passed, 2);
  itimerspec left{};
  CHECK_EQ(timerfd_gettime(file, &left), 0);
  CHECK(left.it_value.tv_sec > 20 * 60 && left.it_value.tv_sec <= 30 * 60);
  move_clock(-150 * minute);
  CHECK_EQ(timerfd_gettime(file, &left), 0);
  CHECK(left.it_value.tv_sec > 170 * 60 && left.it_value.tv_sec <= 180 * 60);
  CHECK_EQ(close(file), 0);
}

void test_told_when_set() {
  uint64_t passed = 0;
  const int file = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
  const itimerspec far = {{}, {INT64_MAX, 0}};
  CHECK_EQ(timerfd_settime(file, TFD_TIMER_ABSTIME | cancel_on_set, &far, nullptr), 0);
  CHECK_ERRNO(read(file, &passed, sizeof passed), EAGAIN);
  move_clock(second);
  pollfd polled = {file, POLLIN, 0};
  CHECK_EQ(poll(&polled, 1, -1), 1);
  CHECK_ERRNO(read(file, &passed, sizeof passed), ECANCELED);
  CHECK_ERRNO(read(file, &passed, sizeof passed), EAGAIN);
  CHECK_EQ(poll(&polled, 1, 0), 0);
  move_clock(-second);
  CHECK_ERRNO(timerfd_settime(file, TFD_TIMER_ABSTIME | cancel_on_set, &far, nullptr), ECANCELED);
  CHECK_ERRNO(read(file, &passed, sizeof passed), EAGAIN);
  CHECK_EQ(fcntl(file, F_SETFL, 0), 0);
  during(
      [&] {
        uint64_t none = 0;
        CHECK_ERRNO(read(file, &none, sizeof none), ECANCELED);
      },
      [] { move_clock(second); });
  CHECK_EQ(timerfd_settime(file, TFD_TIMER_ABSTIME, &far, nullptr), 0);
  move_clock(-second);
  CHECK_EQ(poll(&polled, 1, 0), 0);
  CHECK_EQ(close(file), 0);
}

// How wrong the clock may be is kept as it is said; a clock that is set is not in step any more. Its rate stays what it is.
void test_adjustment() {
  timex state{};
  const int offset = ADJ_SETOFFSET | ADJ_MICRO;
  const int before = adjtimex(&state);
  CHECK(before == TIME_OK || before == TIME_ERROR);
  CHECK(state.tick == 10'000 && state.freq == 0 && state.offset == 0);
  timex all = state;  // as it was, which changes nothing
  all.modes = ADJ_OFFSET | ADJ_FREQUENCY | ADJ_MAXERROR | ADJ_ESTERROR | ADJ_STATUS | ADJ_TIMECONST | ADJ_TICK;
  CHECK_EQ(adjtimex(&all), before);
  timex wanted{};
  wanted.modes = ADJ_STATUS | ADJ_MAXERROR | ADJ_ESTERROR | ADJ_MICRO;
  wanted.status = STA_PLL;
  wanted.maxerror = 1000;
  wanted.esterror = 100;
  CHECK_EQ(adjtimex(&wanted), TIME_OK);
  CHECK(wanted.maxerror >= 1000 && wanted.maxerror < 100'000);
  CHECK_EQ(wanted.esterror, 100);
  CHECK_EQ(wanted.status, STA_PLL);
  wanted.modes = ADJ_NANO;
  CHECK_EQ(adjtimex(&wanted), TIME_OK);
  CHECK_EQ(wanted.status, STA_PLL | STA_NANO);
  wanted.modes = ADJ_MICRO;
  CHECK_EQ(adjtimex(&wanted), TIME_OK);
  const long wrong[] = {8'999, 11'001};
  for (const long tick : wrong) {
    wanted.modes = ADJ_TICK;
    wanted.tick = tick;
    CHECK_ERRNO(adjtimex(&wanted), EINVAL);
  }
  wanted.modes = 0x8000;
  CHECK_ERRNO(adjtimex(&wanted), EINVAL);
  wanted.modes = offset;
  wanted.time = {0, 1'000'000};
  CHECK_ERRNO(adjtimex(&wanted), EINVAL);
  wanted.time = {minute / second, 0};
  const int64_t start = now_ns(CLOCK_REALTIME);
  CHECK_EQ(adjtimex(&wanted), TIME_ERROR);
  CHECK(now_ns(CLOCK_REALTIME) - start >= minute);
  CHECK_EQ(wanted.status & STA_UNSYNC, STA_UNSYNC);
  CHECK_EQ(wanted.maxerror, 16'000'000);
  move_clock(-minute);
  CHECK_ERRNO(syscall(SYS_adjtimex, -1L), EFAULT);
  CHECK_ERRNO(syscall(SYS_clock_adjtime, CLOCK_MONOTONIC, &wanted), EOPNOTSUPP);
  CHECK_ERRNO(syscall(SYS_clock_adjtime, 99, &wanted), EINVAL);
  const pid_t child = fork();
  if (child == 0) {
    CHECK_EQ(setuid(1000), 0);
    state.modes = 0;
    CHECK_EQ(adjtimex(&state), TIME_ERROR);
    state.modes = ADJ_STATUS;
    CHECK_ERRNO(adjtimex(&state), EPERM);
    state.modes = ADJ_TICK;
    state.tick = 1;
    CHECK_ERRNO(adjtimex(&state), EPERM);
    state.modes = ADJ_OFFSET_SS_READ;
    CHECK_EQ(adjtimex(&state), TIME_ERROR);
    _exit(0);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("wallclocktest", argc, argv);
  for (long round = 0; round < check_effort; ++round) {
    test_set_forward();
    test_set_back();
    test_set_often();
    test_lengths_of_time();
    test_repeated();
    test_told_when_set();
    test_adjustment();
  }
  return check_done();
}
