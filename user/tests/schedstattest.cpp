// What is told of running and waiting, by thread, process and core: /proc/[pid]/schedstat and sched, those of its tasks,
// /proc/schedstat and /proc/stat. Sums are compared that must agree, however quick the machine is.

#include "tests/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

char text[65536];

// What the file holds. False: there is none.
bool take(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    CHECK_EQ(errno, ENOENT);
    return false;
  }
  size_t size = 0;
  for (ssize_t now = 1; now > 0; size += static_cast<size_t>(now)) {
    now = read(file, text + size, sizeof text - 1 - size);
    CHECK(now >= 0);
  }
  text[size] = 0;
  close(file);
  return size > 0;
}

struct Turns {
  unsigned long long ran, waited, turns;
};

Turns turns_in(const char* path) {
  CHECK(take(path));
  Turns found{};
  char end = 0;
  CHECK_EQ(sscanf(text, "%llu %llu %llu%c", &found.ran, &found.waited, &found.turns, &end), 4);
  CHECK_EQ(end, '\n');
  return found;
}

Turns turns_of(pid_t process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/schedstat", process);
  return turns_in(path);
}

// The number behind `key` in a text of lines "key : number".
double value_of(const char* key) {
  for (char* line = text; line != nullptr; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    const size_t size = strlen(key);
    if (strncmp(line, key, size) != 0 || (line[size] != ' ' && line[size] != ':')) continue;
    const char* colon = strchr(line, ':');
    CHECK(colon != nullptr);
    return strtod(colon + 1, nullptr);
  }
  CHECK(key == nullptr);
  return 0;
}

void stay_on_first_core() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(0, &cores);
  CHECK_EQ(sched_setaffinity(0, sizeof cores, &cores), 0);
}

int64_t own_time() {
  timespec time{};
  CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// What a process is told of itself agrees with its clock, and grows.
void check_run_time() {
  const Turns before = turns_of(getpid());
  const int64_t begin = own_time();
  while (own_time() - begin < 20'000'000) check_spin(10'000);
  check_sleep_us(1000);
  const Turns now = turns_of(getpid());
  CHECK(now.ran >= before.ran + 15'000'000);  // Linux counts a part at the tick
  CHECK(now.ran <= static_cast<unsigned long long>(own_time()) + 15'000'000);
  CHECK(now.turns > before.turns);
  CHECK(now.waited >= before.waited);
}

// Two that compute on one core: while one runs the other waits.
void check_waiting() {
  constexpr int64_t long_enough = 60'000'000;
  pid_t children[2];
  for (pid_t& child : children) {
    child = fork();
    if (child == 0) {
      stay_on_first_core();
      for (;;) check_spin(100'000);
    }
    CHECK(child > 0);
  }
  Turns found[2];
  for (bool enough = false; !enough;) {  // a busy machine needs longer
    check_sleep_us(20'000);
    enough = true;
    for (int i = 0; i < 2; ++i) {
      found[i] = turns_of(children[i]);
      enough = enough && found[i].ran >= long_enough && found[i].waited >= long_enough;
    }
  }
  for (int i = 0; i < 2; ++i) {
    CHECK(found[i].turns > 1);
    CHECK_EQ(kill(children[i], SIGKILL), 0);
    CHECK_EQ(waitpid(children[i], nullptr, 0), children[i]);
  }
}

// Who sleeps does not wait for a core.
void check_sleeping() {
  const int64_t begin = check_now_ns();
  const Turns before = turns_of(getpid());
  for (int i = 0; i < 20; ++i) check_sleep_us(5000);
  const Turns now = turns_of(getpid());
  const auto passed = static_cast<unsigned long long>(check_now_ns() - begin);
  CHECK(now.ran + now.waited - before.ran - before.waited <= passed);
  CHECK(now.turns >= before.turns + 20);
}

void* be_a_task(void* id) {
  char path[64];
  const auto task = static_cast<int>(syscall(SYS_gettid));
  snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", task);
  const Turns before = turns_in(path);
  for (int i = 0; i < 5; ++i) check_sleep_us(1000);
  const Turns now = turns_in(path);
  CHECK(now.turns >= before.turns + 5 && now.ran >= before.ran);
  snprintf(path, sizeof path, "/proc/self/task/%d/sched", task);
  CHECK(take(path));
  CHECK(strstr(text, ", #threads: 2)\n") != nullptr);
  *static_cast<int*>(id) = task;
  return nullptr;
}

void check_tasks() {
  pthread_t thread;
  int task = 0;
  CHECK_EQ(pthread_create(&thread, nullptr, be_a_task, &task), 0);
  CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK(task > getpid());
  CHECK_EQ(access("/proc/self/task/1000000/schedstat", F_OK), -1);
}

void check_sched() {
  CHECK(take("/proc/self/sched"));
  char head[64];
  snprintf(head, sizeof head, "schedstattest (%d, #threads: 1)\n-----", getpid());
  CHECK_EQ(strncmp(text, head, strlen(head)), 0);
  const double switches = value_of("nr_switches");
  CHECK(switches > 0);
  CHECK(switches == value_of("nr_voluntary_switches") + value_of("nr_involuntary_switches"));
  CHECK(value_of("se.sum_exec_runtime") > 0);
  CHECK(value_of("se.exec_start") > 0);
  CHECK_EQ(value_of("policy"), 0);
  CHECK_EQ(value_of("prio"), 120);
  CHECK_EQ(value_of("se.load.weight"), 1048576);
  const pid_t child = fork();
  if (child == 0) {
    CHECK_EQ(nice(5), 5);
    sched_yield();
    CHECK(take("/proc/self/sched"));
    CHECK_EQ(value_of("prio"), 125);
    CHECK(value_of("se.load.weight") < 1048576 / 2);
    _exit(0);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

struct CoreTimes {
  unsigned long long ran, waited, turns;
};

// Numbers of each core; how many there are. 0: this Linux was made without them.
int cores_in_schedstat(CoreTimes* cores, int most) {
  if (!take("/proc/schedstat")) return 0;
  unsigned version = 0;
  CHECK_EQ(sscanf(text, "version %u\ntimestamp ", &version), 1);
  CHECK(version >= 15);
  int count = 0;
  for (const char* line = strstr(text, "\ncpu"); line != nullptr && count < most; line = strstr(line + 1, "\ncpu")) {
    int core = -1;
    CoreTimes& now = cores[count];
    CHECK_EQ(sscanf(line, "\ncpu%d %*u %*u %*u %*u %*u %*u %llu %llu %llu", &core, &now.ran, &now.waited, &now.turns), 4);
    ++count;
  }
  return count;
}

// User and system time of a core, in hundredths of a second, from /proc/stat.
unsigned long long busy_of_first_core() {
  CHECK(take("/proc/stat"));
  const char* line = strstr(text, "\ncpu0 ");
  CHECK(line != nullptr);
  unsigned long long t[4];
  CHECK_EQ(sscanf(line, "\ncpu0 %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3]), 4);
  return t[0] + t[1] + t[2];
}

// A child computes on the first core, and nowhere else while it is looked at: that core's times grow with the child's, in both files.
void check_cores() {
  constexpr unsigned long long long_enough = 100'000'000;
  static CoreTimes first[1024], before[1024], now[1024];
  const int count = cores_in_schedstat(first, 1024);
  int ready[2];
  CHECK_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    stay_on_first_core();
    CHECK_EQ(write(ready[1], "!", 1), 1);
    for (;;) check_spin(100'000);
  }
  char ok = 0;
  CHECK_EQ(read(ready[0], &ok, 1), 1);
  CHECK_EQ(cores_in_schedstat(before, 1024), count);
  const unsigned long long busy = busy_of_first_core();
  const Turns began = turns_of(child);
  while (turns_of(child).ran < began.ran + long_enough) check_sleep_us(20'000);
  CHECK_EQ(kill(child, SIGKILL), 0);
  CHECK_EQ(waitpid(child, nullptr, 0), child);  // Linux counts the core's time when a thread leaves it
  // Three parts of the time are told in whole hundredths of a second; Linux looks at its ticks only.
  constexpr unsigned long long rounding = 30'000'000;
  CHECK((busy_of_first_core() - busy) * 10'000'000 >= long_enough - rounding);
  if (count == 0) return;
  CHECK_EQ(count, sysconf(_SC_NPROCESSORS_ONLN));
  CHECK_EQ(cores_in_schedstat(now, 1024), count);
  CHECK(now[0].ran - before[0].ran >= long_enough);
  CHECK(now[0].turns > first[0].turns && now[0].waited >= first[0].waited);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("schedstattest", argc, argv);
  check_run_time();
  check_sleeping();
  check_waiting();
  check_sched();
  check_tasks();
  check_cores();
  return check_done();
}
