// Keeps cores busy by processes of chosen classes, for as long as it is told.
//
//   hogs SECONDS CLASS:COUNT[:CORE[:then-all]]...
//
// Each group is COUNT processes that compute and never wait, of CLASS `other`, `fifo`, `rr` or `deadline` (10 ms of each 50 ms); those of
// class `alarm` sleep for a millisecond again and again, and are above all others but those with deadlines; those of class `signalled` are
// as `other`, and a timer sends each a signal every millisecond. With a CORE they begin there, and `then-all` lets them go anywhere once
// all are there. So `hogs 5 other:3:0:then-all` asks whether idle cores get what waits on core 0. Needs the rights for the classes. The
// last line: "hogs: N processes".

#include "probes/argument.h"
#include "tests/check.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr char usage[] = "hogs SECONDS CLASS:COUNT[:CORE[:then-all]]...";
constexpr int most_hogs = 256;
constexpr int priority = 40;

struct Group {
  const char* policy;
  long count;
  long core;  // -1: any
  bool then_all;
};

pid_t hogs[most_hogs];
bool goes_on[most_hogs];  // may go anywhere later
int hog_count = 0;

Group parse(char* text) {
  Group group{strtok(text, ":"), 0, -1, false};
  const char* const count = strtok(nullptr, ":");
  const char* const core = count == nullptr ? nullptr : strtok(nullptr, ":");
  const char* const then = core == nullptr ? nullptr : strtok(nullptr, ":");
  group.count = number_of(count == nullptr ? "" : count, most_hogs, usage);
  if (core != nullptr) group.core = number_of(strcmp(core, "0") == 0 ? "256" : core, 256, usage) % 256;
  group.then_all = then != nullptr && strcmp(then, "then-all") == 0;
  return group;
}

void take_class(const char* policy) {
  if (strcmp(policy, "deadline") == 0) {
    struct {
      unsigned size = 48, policy = 6;
      unsigned long flags = 0;
      int nice = 0;
      unsigned priority = 0;
      unsigned long runtime = 10'000'000, due = 50'000'000, period = 50'000'000;
    } attributes;
    CHECK_EQ(syscall(SYS_sched_setattr, 0, &attributes, 0), 0);
  } else if (strcmp(policy, "signalled") == 0) {
    signal(SIGALRM, [](int) {});
    const itimerval each_millisecond{{0, 1000}, {0, 1000}};
    CHECK_EQ(setitimer(ITIMER_REAL, &each_millisecond, nullptr), 0);
  } else if (strcmp(policy, "other") != 0) {
    sched_param parameters{};
    parameters.sched_priority = strcmp(policy, "alarm") == 0 ? priority + 2 : priority;
    CHECK_EQ(syscall(SYS_sched_setscheduler, 0, strcmp(policy, "rr") == 0 ? SCHED_RR : SCHED_FIFO, &parameters), 0);
  }
}

void begin(const Group& group, const int* here) {
  for (long i = 0; i < group.count && hog_count < most_hogs; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      take_class(group.policy);  // first: on its core there may be others above it
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<int>(group.core < 0 ? 0 : group.core), &one);
      if (group.core >= 0) { CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0); }
      CHECK_EQ(write(here[1], "h", 1), 1);
      while (strcmp(group.policy, "alarm") == 0) usleep(1000);
      for (;;) asm volatile("");
    }
    hogs[hog_count] = child;
    goes_on[hog_count++] = group.then_all;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) number_of("", 1, usage);
  const long duration = number_of(argv[1], 3600, usage);
  int here[2];
  CHECK_EQ(pipe(here), 0);
  // Above those that it ends.
  sched_param parameters{};
  parameters.sched_priority = priority + 1;
  (void)syscall(SYS_sched_setscheduler, 0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters);
  for (int i = 2; i < argc; ++i) begin(parse(argv[i]), here);
  char word;
  for (int i = 0; i < hog_count; ++i) CHECK_EQ(read(here[0], &word, 1), 1);
  cpu_set_t all;
  memset(&all, 0xff, sizeof all);
  for (int i = 0; i < hog_count; ++i) {
    if (goes_on[i]) { CHECK_EQ(sched_setaffinity(hogs[i], sizeof all, &all), 0); }
  }
  sleep(static_cast<unsigned>(duration));
  for (int i = 0; i < hog_count; ++i) kill(hogs[i], SIGKILL);
  for (int i = 0; i < hog_count; ++i) CHECK_EQ(waitpid(hogs[i], nullptr, 0), hogs[i]);
  printf("hogs: %d processes\n", hog_count);
  return 0;
}
