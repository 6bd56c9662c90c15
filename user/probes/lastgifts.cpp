// Reserves time (SCHED_DEADLINE) for TURNS processes that are at their ends, and then looks whether any of it is missing: as many
// halves of cores as there are. No test that Linux passes: that loses some of it.
//
//   lastgifts TURNS
//
// Prints "lastgifts: N halves given". Status 1: that is less than all cores' 95 %.

#include "probes/argument.h"
#include "tests/check.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr unsigned long ms = 1'000'000;
constexpr int most_halves = 512;

struct {
  unsigned size = 48, policy = 6;
  unsigned long flags = 0;
  int nice = 0;
  unsigned priority = 0;
  unsigned long runtime = 5 * ms, due = 10 * ms, period = 10 * ms;
} half;

bool give(pid_t process) {
  return syscall(SYS_sched_setattr, process, &half, 0) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const long turns = number_of(argc == 2 ? argv[1] : "", 1'000'000, "lastgifts TURNS");
  for (long turn = 0; turn < turns; ++turn) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) { _exit(0); }
    while (waitpid(child, nullptr, WNOHANG) == 0) { (void)give(child); }
  }
  int given = 0;
  pid_t holders[most_halves];
  for (bool more = true; more && given < most_halves; ++given) {
    const pid_t holder = fork();
    CHECK(holder >= 0);
    if (holder == 0) {
      for (;;) { pause(); }
    }
    holders[given] = holder;
    more = give(holder);
  }
  for (int i = 0; i < given; ++i) {
    CHECK_EQ(kill(holders[i], SIGKILL), 0);
    CHECK_EQ(waitpid(holders[i], nullptr, 0), holders[i]);
  }
  --given;  // the last one was refused
  printf("lastgifts: %d halves given\n", given);
  return given == sysconf(_SC_NPROCESSORS_ONLN) * 95 / 50 ? 0 : 1;
}
