// The real-time class: SCHED_FIFO and SCHED_RR above everybody else, in the order that POSIX and Linux's sched(7) say.
// Without the right to use it (Linux, not root), nothing of it is checked.

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "children.h"

namespace {

constexpr int futex_wait = 0, futex_wake = 1;
constexpr int other = 0, fifo = 1, round_robin = 2, batch = 3, idle = 5, reset_on_fork = 0x40000000;

// musl's own functions for these refuse without asking the kernel.
long set_policy(pid_t thread, int policy, int priority) {
  return syscall(SYS_sched_setscheduler, thread, policy, &priority);
}
long policy_of(pid_t thread) {
  return syscall(SYS_sched_getscheduler, thread);
}
long set_priority(pid_t thread, int priority) {
  return syscall(SYS_sched_setparam, thread, &priority);
}
int priority_of(pid_t thread) {
  int priority = -1;
  CHECK_EQ(syscall(SYS_sched_getparam, thread, &priority), 0);
  return priority;
}
pid_t own_id() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

cpu_set_t all_cores;

// The calling thread may run on this core alone; -1: on all again.
void stay_on(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (core >= 0) CPU_SET(static_cast<unsigned>(core), &set);
  CHECK_EQ(sched_setaffinity(0, sizeof set, core >= 0 ? &set : &all_cores), 0);
}
int core_number(int index) {
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<unsigned>(core), &all_cores) && index-- == 0) return core;
  }
  return -1;
}

// ---- what the calls answer -------------------------------------------------------------------------------------------

void test_answers() {
  CHECK_EQ(set_policy(0, fifo, 50), 0);
  CHECK_EQ(policy_of(0), fifo);
  CHECK_EQ(priority_of(0), 50);
  CHECK_EQ(set_priority(0, 99), 0);
  CHECK_EQ(priority_of(0), 99);
  CHECK_ERRNO(set_priority(0, 0), EINVAL);
  CHECK_ERRNO(set_priority(0, 100), EINVAL);
  CHECK_ERRNO(set_policy(0, fifo, 0), EINVAL);
  CHECK_ERRNO(set_policy(0, round_robin, 100), EINVAL);
  CHECK_ERRNO(set_policy(0, other, 1), EINVAL);
  CHECK_ERRNO(set_policy(0, 4, 1), EINVAL);
  CHECK_EQ(policy_of(0), fifo);
  timespec interval{7, 7};
  CHECK_EQ(syscall(SYS_sched_rr_get_interval, 0, &interval), 0);
  CHECK_EQ(interval.tv_sec, 0);
  CHECK_EQ(interval.tv_nsec, 0);
  CHECK_EQ(set_policy(0, round_robin, 1), 0);
  CHECK_EQ(syscall(SYS_sched_rr_get_interval, 0, &interval), 0);
  CHECK_EQ(interval.tv_sec, 0);
  CHECK(interval.tv_nsec > 0);
  CHECK_ERRNO(syscall(SYS_sched_rr_get_interval, -1, &interval), EINVAL);
  CHECK_ERRNO(syscall(SYS_sched_rr_get_interval, 0x3fffffff, &interval), ESRCH);
  CHECK_ERRNO(syscall(SYS_sched_rr_get_interval, 0, nullptr), EFAULT);
  CHECK_EQ(syscall(SYS_sched_get_priority_max, fifo), 99);
  CHECK_EQ(syscall(SYS_sched_get_priority_min, round_robin), 1);
}

struct Attributes {  // struct sched_attr
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

void test_attributes() {
  Attributes wish{};
  wish.size = sizeof wish;
  wish.policy = round_robin;
  wish.priority = 33;
  CHECK_EQ(syscall(SYS_sched_setattr, 0, &wish, 0), 0);
  Attributes has{};
  CHECK_EQ(syscall(SYS_sched_getattr, 0, &has, sizeof has, 0), 0);
  CHECK_EQ(has.policy, round_robin);
  CHECK_EQ(has.priority, 33);
  CHECK_EQ(has.nice, 0);
  wish.priority = 0;
  CHECK_ERRNO(syscall(SYS_sched_setattr, 0, &wish, 0), EINVAL);
  wish.flags = 8;  // keep the policy
  wish.policy = other;
  wish.priority = 44;
  CHECK_EQ(syscall(SYS_sched_setattr, 0, &wish, 0), 0);
  CHECK_EQ(policy_of(0), round_robin);
  CHECK_EQ(priority_of(0), 44);
  wish.flags = 16;  // keep the parameters, and with them the policy
  wish.policy = fifo;
  wish.priority = 0;
  CHECK_EQ(syscall(SYS_sched_setattr, 0, &wish, 0), 0);
  CHECK_EQ(policy_of(0), round_robin);
  CHECK_EQ(priority_of(0), 44);
}

// Fields 18, 40 and 41 of /proc/self/stat.
void test_proc() {
  CHECK_EQ(set_policy(0, round_robin, 12), 0);
  char text[1024] = {};
  const int file = open("/proc/self/stat", O_RDONLY);
  CHECK(file >= 0);
  CHECK(read(file, text, sizeof text - 1) > 0);
  close(file);
  long field[53] = {};
  const char* at = strrchr(text, ')') + 4;  // the state is one letter
  for (int number = 4; number <= 52; ++number) {
    char* end = nullptr;
    field[number] = strtol(at, &end, 10);
    at = end;
  }
  CHECK_EQ(field[18], -13);
  CHECK_EQ(field[40], 12);
  CHECK_EQ(field[41], round_robin);
}

void test_inheritance() {
  CHECK_EQ(set_policy(0, fifo, 20), 0);
  children::expect_exit(children::spawn([] { return policy_of(0) == fifo && priority_of(0) == 20 ? 0 : 1; }), 0);
  CHECK_EQ(set_policy(0, fifo | reset_on_fork, 20), 0);
  CHECK_EQ(policy_of(0), fifo | reset_on_fork);
  children::expect_exit(children::spawn([] { return policy_of(0) == other && priority_of(0) == 0 ? 0 : 1; }), 0);
  CHECK_EQ(set_priority(0, 21), 0);  // keeps the flag
  CHECK_EQ(policy_of(0), fifo | reset_on_fork);
  CHECK_EQ(set_policy(0, fifo, 20), 0);
}

// ---- order on one core -----------------------------------------------------------------------------------------------

// Threads that sleep until they are woken, and then write down that they run. The test itself stands above them all, so
// nobody runs before it waits.
constexpr int most = 4;
struct Runner {
  pthread_t thread;
  pid_t id;
  int gate;
  char letter;
  int yields;
};
Runner runners[most];
char order[64];
int written;
int ready;

void wait_while(int* word, int value) {
  while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == value) syscall(SYS_futex, word, futex_wait, value, nullptr, nullptr, 0);
}
void set_and_wake(int* word, int value) {
  __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, word, futex_wake, INT_MAX, nullptr, nullptr, 0);
}

void* run_runner(void* argument) {
  auto& self = *static_cast<Runner*>(argument);
  self.id = own_id();
  __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &ready, futex_wake, INT_MAX, nullptr, nullptr, 0);
  wait_while(&self.gate, 0);
  for (int turn = 0; turn <= self.yields; ++turn) {
    if (turn > 0) sched_yield();
    order[__atomic_fetch_add(&written, 1, __ATOMIC_SEQ_CST)] = self.letter;
  }
  return nullptr;
}

void make_runners(int count, int yields = 0) {
  memset(order, 0, sizeof order);
  written = 0;
  ready = 0;
  for (int i = 0; i < count; ++i) {
    runners[i] = {{}, 0, 0, static_cast<char>('a' + i), yields};
    CHECK_EQ(pthread_create(&runners[i].thread, nullptr, run_runner, &runners[i]), 0);
  }
  for (int seen; (seen = __atomic_load_n(&ready, __ATOMIC_SEQ_CST)) != count;) wait_while(&ready, seen);
  check_sleep_us(20000);  // until they sleep
}
void prepare(int index, int priority) {
  CHECK_EQ(set_policy(runners[index].id, fifo, priority), 0);
}
void wake(int index) {
  set_and_wake(&runners[index].gate, 1);
}
void expect_order(int count, const char* expected) {
  for (int i = 0; i < count; ++i) CHECK_EQ(pthread_join(runners[i].thread, nullptr), 0);
  if (strcmp(order, expected) != 0) fprintf(stderr, "order %s, not %s\n", order, expected);
  CHECK(strcmp(order, expected) == 0);
}

void test_order() {
  stay_on(core_number(0));
  CHECK_EQ(set_policy(0, fifo, 90), 0);

  make_runners(4);  // higher ones first, equals in order of arrival
  prepare(0, 10), prepare(1, 30), prepare(2, 10), prepare(3, 20);
  for (int i = 0; i < 4; ++i) wake(i);
  expect_order(4, "bdac");

  make_runners(3);  // who yields goes behind its equals, but not behind lower ones
  prepare(0, 10), prepare(1, 10), prepare(2, 9);
  runners[0].yields = runners[1].yields = 2;
  for (int i = 0; i < 3; ++i) wake(i);
  expect_order(3, "abababc");

  make_runners(3);  // raised: behind its new equals
  prepare(0, 10), prepare(1, 20), prepare(2, 20);
  for (int i = 0; i < 3; ++i) wake(i);
  prepare(0, 20);
  expect_order(3, "bca");

  make_runners(3);  // lowered: before them
  prepare(0, 10), prepare(1, 10), prepare(2, 20);
  for (int i = 0; i < 3; ++i) wake(i);
  prepare(2, 10);
  expect_order(3, "cab");

  make_runners(3);  // the same priority again: it keeps its place
  prepare(0, 10), prepare(1, 10), prepare(2, 10);
  for (int i = 0; i < 3; ++i) wake(i);
  prepare(0, 10);
  CHECK_EQ(set_policy(runners[1].id, round_robin, 10), 0);
  expect_order(3, "abc");

  make_runners(3);  // out of the class, and into it
  prepare(0, 10), prepare(1, 10), prepare(2, 10);
  CHECK_EQ(set_policy(runners[2].id, other, 0), 0);
  for (int i = 0; i < 3; ++i) wake(i);
  CHECK_EQ(set_policy(runners[0].id, other, 0), 0);
  CHECK_EQ(set_policy(runners[2].id, fifo, 11), 0);
  expect_order(3, "cba");
  stay_on(-1);
}

// ---- turns, and who comes first --------------------------------------------------------------------------------------

struct Spinner {
  pthread_t thread;
  int policy, priority, core;
  int64_t give_up_at;
  volatile long turns;
  char padding[64];
};
int stop_spinning;
constexpr int64_t second = 1000000000;

void* spin(void* argument) {
  auto& self = *static_cast<Spinner*>(argument);
  if (self.core >= 0) stay_on(self.core);
  CHECK_EQ(set_policy(0, self.policy, self.priority), 0);
  while (__atomic_load_n(&stop_spinning, __ATOMIC_RELAXED) == 0) {
    self.turns = self.turns + 1;
    if (self.turns % 1024 == 0 && check_now_ns() > self.give_up_at) break;  // whatever happens to the test
  }
  return nullptr;
}
void start_spinner(Spinner& spinner, int policy, int priority, int core, int64_t most_ns) {
  spinner.policy = policy;
  spinner.priority = priority;
  spinner.core = core;
  spinner.turns = 0;
  spinner.give_up_at = check_now_ns() + most_ns;
  CHECK_EQ(pthread_create(&spinner.thread, nullptr, spin, &spinner), 0);
}

Spinner spinners[64];

// Two of SCHED_RR share a core by turns; a third of SCHED_FIFO behind them gets nothing.
void test_round_robin() {
  stay_on(core_number(0));
  CHECK_EQ(set_policy(0, fifo, 90), 0);
  stop_spinning = 0;
  start_spinner(spinners[0], round_robin, 20, -1, 4 * second);
  start_spinner(spinners[1], round_robin, 20, -1, 4 * second);
  start_spinner(spinners[2], fifo, 19, -1, 4 * second);
  check_sleep_us(700000);
  const long after[] = {spinners[0].turns, spinners[1].turns, spinners[2].turns};
  stop_spinning = 1;
  for (int i = 0; i < 3; ++i) CHECK_EQ(pthread_join(spinners[i].thread, nullptr), 0);
  CHECK(after[0] > 0);
  CHECK(after[1] > 0);
  CHECK_EQ(after[2], 0);
  stay_on(-1);
}

// A thread of a core that is busy with lower ones is woken from elsewhere: it runs at once.
struct Sleeper {
  int gate;
  int64_t woken_at;
};
void* sleep_until_woken(void* argument) {
  auto& self = *static_cast<Sleeper*>(argument);
  stay_on(core_number(0));
  CHECK_EQ(set_policy(0, fifo, 60), 0);
  wait_while(&self.gate, 0);
  self.woken_at = check_now_ns();
  return nullptr;
}
void test_preemption_from_elsewhere() {
  CHECK_EQ(set_policy(0, fifo, 90), 0);
  stay_on(core_number(CPU_COUNT(&all_cores) - 1));
  stop_spinning = 0;
  start_spinner(spinners[0], fifo, 40, core_number(0), 10 * second);
  check_sleep_us(50000);
  Sleeper sleeper{};
  pthread_t thread;
  CHECK_EQ(pthread_create(&thread, nullptr, sleep_until_woken, &sleeper), 0);
  check_sleep_us(50000);
  set_and_wake(&sleeper.gate, 1);
  CHECK_EQ(pthread_join(thread, nullptr), 0);  // while the lower one spins on
  CHECK_EQ(stop_spinning, 0);
  CHECK(check_now_ns() < spinners[0].give_up_at);
  stop_spinning = 1;
  CHECK_EQ(pthread_join(spinners[0].thread, nullptr), 0);
  stay_on(-1);
}

// Twice as many threads as cores: the higher half runs, whichever core each began on. Whether it was so.
bool highest_run() {
  const int cores = CPU_COUNT(&all_cores);
  stop_spinning = 0;
  for (int i = 0; i < 2 * cores; ++i) start_spinner(spinners[i], fifo, 10 + i, -1, 30 * second);
  check_sleep_us(400000);
  long before[64], after[64];
  for (int i = 0; i < 2 * cores; ++i) before[i] = spinners[i].turns;
  check_sleep_us(400000);
  for (int i = 0; i < 2 * cores; ++i) after[i] = spinners[i].turns;
  bool as_wanted = true;
  for (int i = 0; i < 2 * cores; ++i) {
    if ((after[i] != before[i]) == (i >= cores)) continue;
    fprintf(stderr, "thread %d of %d: %ld turns, then %ld\n", i, 2 * cores, before[i], after[i]);
    as_wanted = false;
  }
  stop_spinning = 1;
  for (int i = 0; i < 2 * cores; ++i) CHECK_EQ(pthread_join(spinners[i].thread, nullptr), 0);
  return as_wanted;
}

// A virtual machine's host may keep one of its cores from running so long that who is sent there has not arrived yet: more
// attempts, each from the beginning. With a greater effort, for where that cannot be, every one has to be right.
void test_the_highest_run() {
  if (CPU_COUNT(&all_cores) * 2 > 64) return;
  CHECK_EQ(set_policy(0, fifo, 90), 0);
  if (check_effort == 1) {
    CHECK(highest_run() || highest_run() || highest_run());
    return;
  }
  for (long i = 0; i < check_effort; ++i) CHECK(highest_run());
}

// ---- the bound -------------------------------------------------------------------------------------------------------

// Every core has a thread of the highest priority that does not stop by itself; the others go on all the same.
void test_a_loop_does_not_stop_the_system() {
  const int cores = CPU_COUNT(&all_cores);
  if (cores > 64) return;
  CHECK_EQ(set_policy(0, other, 0), 0);
  stop_spinning = 0;
  for (int i = 0; i < cores; ++i) start_spinner(spinners[i], fifo, 99, core_number(i), 60 * second);
  for (int i = 0; i < cores; ++i) {
    while (spinners[i].turns == 0) check_sleep_us(1000);
  }
  for (int i = 0; i < 3; ++i) {
    check_sleep_us(1000);
    children::expect_exit(children::spawn([] { return 7; }), 7);
  }
  for (int i = 0; i < cores; ++i) CHECK(check_now_ns() < spinners[i].give_up_at);
  stop_spinning = 1;
  for (int i = 0; i < cores; ++i) { CHECK_EQ(pthread_join(spinners[i].thread, nullptr), 0); }
}

bool is_bounded() {
  char text[32] = {};
  const int file = open("/proc/sys/kernel/sched_rt_runtime_us", O_RDONLY);
  if (file < 0) return false;
  const bool read_it = read(file, text, sizeof text - 1) > 0;
  close(file);
  return read_it && text[0] != '-';
}

// ---- the modest ones -------------------------------------------------------------------------------------------------

void test_modest_ones_run() {
  constexpr int modest[] = {batch, idle};
  for (const int policy : modest) {
    children::expect_exit(children::spawn([=] {
                            if (set_policy(0, policy, 0) != 0) return 1;
                            check_spin(100000);
                            return policy_of(0) == policy ? 0 : 2;
                          }),
                          0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("realtimetest", argc, argv);
  CHECK_EQ(sched_getaffinity(0, sizeof all_cores, &all_cores), 0);
  test_modest_ones_run();
  if (set_policy(0, fifo, 1) != 0) {
    CHECK_EQ(errno, EPERM);
    return check_done();
  }
  test_answers();
  test_attributes();
  test_proc();
  test_inheritance();
  test_order();
  test_round_robin();
  test_preemption_from_elsewhere();
  test_the_highest_run();
  if (is_bounded()) test_a_loop_does_not_stop_the_system();
  return check_done();
}
