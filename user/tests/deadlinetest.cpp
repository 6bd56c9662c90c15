// SCHED_DEADLINE: reservations of processor time, as Linux's sched(7) and sched_setattr(2) say.
// Without the right to use it (Linux, not root), nothing of it is checked.

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "children.h"

namespace {

constexpr unsigned other = 0, deadline = 6;
constexpr unsigned long reset_on_fork = 1;
constexpr unsigned long ms = 1'000'000;

struct Attributes {
  unsigned size = sizeof(Attributes), policy = deadline;
  unsigned long flags = 0;
  int nice = 0;
  unsigned priority = 0;
  unsigned long runtime = 0, due = 0, period = 0;
};
static_assert(sizeof(Attributes) == 48);

Attributes reserving(unsigned long runtime, unsigned long due, unsigned long period) {
  Attributes attributes;
  attributes.runtime = runtime;
  attributes.due = due;
  attributes.period = period;
  return attributes;
}
long set(const Attributes& attributes) {
  return syscall(SYS_sched_setattr, 0, &attributes, 0);
}
long set_other() {
  Attributes attributes;
  attributes.policy = other;
  return set(attributes);
}
double now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

void test_what_may_be_reserved() {
  CHECK_ERRNO(set(reserving(0, 10 * ms, 10 * ms)), EINVAL);
  CHECK_ERRNO(set(reserving(1023, 10 * ms, 10 * ms)), EINVAL);
  CHECK_ERRNO(set(reserving(1 * ms, 0, 10 * ms)), EINVAL);
  CHECK_ERRNO(set(reserving(6 * ms, 5 * ms, 10 * ms)), EINVAL);
  CHECK_ERRNO(set(reserving(1 * ms, 11 * ms, 10 * ms)), EINVAL);
  CHECK_ERRNO(set(reserving(2000, 50'000, 50'000)), EINVAL);                // a period of less than 100 us
  CHECK_ERRNO(set(reserving(1 * ms, 10 * ms, 5000 * ms)), EINVAL);          // more than 4 s
  CHECK_ERRNO(set(reserving(1 * ms, 1ul << 63, 1ul << 63)), EINVAL);
  Attributes with_priority = reserving(1 * ms, 10 * ms, 10 * ms);
  with_priority.priority = 1;
  CHECK_ERRNO(set(with_priority), EINVAL);
  const int priority = 0;
  CHECK_ERRNO(syscall(SYS_sched_setscheduler, 0, deadline, &priority), EINVAL);
  CHECK_EQ(syscall(SYS_sched_getscheduler, 0), other);
  CHECK_EQ(syscall(SYS_sched_get_priority_max, deadline), 0);
  CHECK_EQ(syscall(SYS_sched_get_priority_min, deadline), 0);
}

void test_it_is_told() {
  CHECK_EQ(set(reserving(2 * ms, 20 * ms, 0)), 0);  // the period is the deadline
  CHECK_EQ(syscall(SYS_sched_getscheduler, 0), deadline);
  Attributes told{};
  CHECK_EQ(syscall(SYS_sched_getattr, 0, &told, sizeof told, 0), 0);
  CHECK_EQ(told.policy, deadline);
  CHECK_EQ(told.runtime, 2 * ms);
  CHECK_EQ(told.due, 20 * ms);
  CHECK_EQ(told.period, 20 * ms);
  CHECK_EQ(told.priority, 0u);
  int priority = 7;
  CHECK_EQ(syscall(SYS_sched_getparam, 0, &priority), 0);
  CHECK_EQ(priority, 0);
  CHECK_ERRNO(syscall(SYS_sched_setparam, 0, &priority), EINVAL);
  CHECK_EQ(set(reserving(1 * ms, 5 * ms, 10 * ms)), 0);  // another one
  CHECK_EQ(syscall(SYS_sched_getattr, 0, &told, sizeof told, 0), 0);
  CHECK_EQ(told.due, 5 * ms);
  CHECK_EQ(set_other(), 0);
  CHECK_EQ(syscall(SYS_sched_getscheduler, 0), other);
}

// A reservation holds for all cores together, and is not inherited.
void test_cores_and_children() {
  cpu_set_t all;
  CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &all)) {
      CPU_SET(core, &one);
      break;
    }
  }
  const bool several = CPU_COUNT(&all) > 1;
  CHECK_EQ(set(reserving(2 * ms, 20 * ms, 20 * ms)), 0);
  if (several) CHECK_ERRNO(sched_setaffinity(0, sizeof one, &one), EBUSY);
  CHECK_ERRNO(fork(), EAGAIN);
  Attributes resetting = reserving(2 * ms, 20 * ms, 20 * ms);
  resetting.flags = reset_on_fork;
  CHECK_EQ(set(resetting), 0);
  children::expect_exit(children::spawn([] { return syscall(SYS_sched_getscheduler, 0) == other ? 0 : 1; }), 0);
  CHECK_EQ(set_other(), 0);
  if (several) {
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    CHECK_ERRNO(set(reserving(2 * ms, 20 * ms, 20 * ms)), EPERM);
    CHECK_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  }
}

// Children that take half a core each: as many as leave 5 % of all cores, whoever asks more.
void test_no_more_is_given_than_there_is() {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int to_children[2];
  int to_parent[2];
  CHECK(pipe(to_children) == 0 && pipe(to_parent) == 0);
  long given = 0, refused = 0;
  pid_t started[64];
  const long count = cores * 2 + 2 < 64 ? cores * 2 + 2 : 64;
  for (long i = 0; i < count; ++i) {
    started[i] = fork();
    if (started[i] == 0) {
      char answer = set(reserving(50 * ms, 100 * ms, 100 * ms)) == 0 ? 'y' : errno == EBUSY ? 'n' : '?';
      CHECK(write(to_parent[1], &answer, 1) == 1);
      close(to_children[1]);
      CHECK_EQ(read(to_children[0], &answer, 1), 0);  // until the parent closes it
      _exit(0);
    }
  }
  for (long i = 0; i < count; ++i) {
    char answer = 0;
    CHECK(read(to_parent[0], &answer, 1) == 1);
    if (answer == 'y') ++given;
    if (answer == 'n') ++refused;
  }
  CHECK_EQ(given, cores * 2 - (cores + 9) / 10);  // 95 % of a core are 1.9 halves
  CHECK_EQ(given + refused, count);
  close(to_children[1]);
  for (long i = 0; i < count; ++i) children::expect_exit(started[i], 0);
  // They gave it back when they ended; Linux takes it when their periods would have.
  for (int i = 0; i < 500 && set(reserving(90 * ms, 100 * ms, 100 * ms)) != 0; ++i) usleep(10'000);
  CHECK_EQ(syscall(SYS_sched_getscheduler, 0), deadline);
  CHECK_EQ(set_other(), 0);
}

// A loop gets what it reserved of each period, and not more, though nobody else wants the core.
void test_a_loop_gets_its_share() {
  CHECK_EQ(set(reserving(20 * ms, 100 * ms, 100 * ms)), 0);
  const double begin = now();
  const double ran = now(CLOCK_THREAD_CPUTIME_ID);
  while (now() < begin + 1.0) {}
  const double used = now(CLOCK_THREAD_CPUTIME_ID) - ran;
  const double passed = now() - begin;
  CHECK(used <= 0.02 * (passed / 0.1 + 2) + 0.05);
  CHECK_EQ(set_other(), 0);
}

// sched_yield: that was all for this period.
void test_yielding_waits_for_the_next_period() {
  CHECK_EQ(set(reserving(10 * ms, 50 * ms, 50 * ms)), 0);
  sched_yield();
  const double begin = now();
  for (int i = 0; i < 6; ++i) sched_yield();
  CHECK(now() - begin >= 5 * 0.050);  // of an early beginning one may be short
  CHECK_EQ(set_other(), 0);
}

// One that rests can be killed, and it gives back what it had.
void test_the_end_of_one_that_rests() {
  const pid_t child = fork();
  if (child == 0) {
    CHECK_EQ(set(reserving(5 * ms, 1000 * ms, 1000 * ms)), 0);
    for (;;) {}
  }
  timespec pause{0, 300'000'000};
  nanosleep(&pause, nullptr);
  CHECK_EQ(kill(child, SIGKILL), 0);
  children::expect_signal(child, SIGKILL);
}

}  // namespace

// Until it is waited for it is told to have had a deadline, but of what was reserved nothing is left.
void test_who_has_ended() {
  for (const unsigned long flags : (const unsigned long[]){0, reset_on_fork}) {
    const pid_t child = fork();
    if (child == 0) {
      Attributes wanted = reserving(5 * ms, 20 * ms, 30 * ms);
      wanted.flags = flags;
      _exit(set(wanted) == 0 ? 0 : 1);
    }
    siginfo_t end;
    CHECK_EQ(waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT), 0);
    CHECK_EQ(end.si_status, 0);
    check_sleep_us(100'000);  // Linux may keep it for what is left of the period
    CHECK_EQ(syscall(SYS_sched_getscheduler, child), static_cast<long>(deadline | (flags != 0 ? 0x4000'0000u : 0)));
    Attributes told = reserving(1, 1, 1);
    told.nice = -1;
    told.priority = 1;
    CHECK_EQ(syscall(SYS_sched_getattr, child, &told, sizeof told, 0), 0);
    CHECK_EQ(told.policy, deadline);
    CHECK_EQ(told.flags, flags);
    CHECK(told.nice == 0 && told.priority == 0 && told.runtime == 0 && told.due == 0 && told.period == 0);
    int priority = 5;
    CHECK_EQ(syscall(SYS_sched_getparam, child, &priority), 0);
    CHECK_EQ(priority, 0);
    timespec interval = {1, 1};
    CHECK_EQ(syscall(SYS_sched_rr_get_interval, child, &interval), 0);
    CHECK(interval.tv_sec == 0 && interval.tv_nsec == 0);
    CHECK_EQ(waitpid(child, nullptr, 0), child);
    CHECK_ERRNO(syscall(SYS_sched_getattr, child, &told, sizeof told, 0), ESRCH);
  }
}

int main(int argc, char** argv) {
  check_begin("deadlinetest", argc, argv);
  if (set(reserving(1 * ms, 10 * ms, 10 * ms)) != 0) {
    CHECK_EQ(errno, EPERM);
    return check_done();
  }
  CHECK_EQ(set_other(), 0);
  test_what_may_be_reserved();
  test_it_is_told();
  test_cores_and_children();
  test_no_more_is_given_than_there_is();
  for (long i = 0; i < check_effort; ++i) test_a_loop_gets_its_share();
  test_yielding_waits_for_the_next_period();
  test_the_end_of_one_that_rests();
  test_who_has_ended();
  return check_done();
}
