// Shares of the processors: a process for each nice value, which all compute for the same time.
//
//   shares SECONDS NICE...
//
// Prints "share NICE MICROSECONDS" for each, in order: the processor time that it got.

#include "probes/argument.h"
#include "tests/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr char usage[] = "shares SECONDS NICE...";
constexpr int most = 64;

volatile sig_atomic_t over;

[[noreturn]] void compute(int nice_value, int begin) {
  signal(SIGALRM, [](int) { over = 1; });
  CHECK_EQ(setpriority(PRIO_PROCESS, 0, nice_value), 0);
  char byte;
  if (read(begin, &byte, 1) != 0) _exit(1);  // its end: all are there
  while (over == 0) {}
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const long seconds = number_of(argc > 1 ? argv[1] : "", 3600, usage);
  const int count = argc - 2;
  CHECK(count > 0 && count <= most);
  int begin[2];
  CHECK_EQ(pipe(begin), 0);
  pid_t children[most];
  for (int i = 0; i < count; ++i) {
    children[i] = fork();
    CHECK(children[i] >= 0);
    if (children[i] == 0) {
      close(begin[1]);
      compute(atoi(argv[2 + i]), begin[0]);
    }
  }
  close(begin[1]);
  sleep(static_cast<unsigned>(seconds));
  for (int i = 0; i < count; ++i) CHECK_EQ(kill(children[i], SIGALRM), 0);
  for (int i = 0; i < count; ++i) {
    int status = 0;
    rusage used{};
    CHECK_EQ(wait4(children[i], &status, 0, &used), children[i]);
    CHECK_EQ(status, 0);
    printf("share %s %ld\n", argv[2 + i], used.ru_utime.tv_sec * 1'000'000 + used.ru_utime.tv_usec);
  }
  return 0;
}
