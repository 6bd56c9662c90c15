// time: runs a program and says on standard error how long it took: real time, and the processor time that it and
// the children it waited for spent in user mode and in the kernel. Its exit status is passed on; 128 + N if a signal
// N ended it, 127 if it was not found, 126 if it could not be run.

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return seconds(time);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || strcmp(argv[1], "--help") == 0) {
    fputs("usage: time PROGRAM [ARGUMENTS]\n", stderr);
    return argc < 2 ? 2 : 0;
  }

  const double begin = now();
  const pid_t child = fork();
  if (child < 0) {
    fprintf(stderr, "time: cannot start a process: %s\n", strerror(errno));
    return 126;
  }
  if (child == 0) {
    execvp(argv[1], argv + 1);
    const int error = errno;
    fprintf(stderr, "time: %s: %s\n", argv[1], error == ENOENT ? "not found" : strerror(error));
    _exit(error == ENOENT ? 127 : 126);
  }

    // Ctrl-C is for the program: its time is still wanted.
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);

  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) {
      fprintf(stderr, "time: cannot wait: %s\n", strerror(errno));
      return 126;
    }
  }
  const double real = now() - begin;
  if (WIFSIGNALED(status)) {
    fprintf(stderr, "time: %s ended by signal %d (%s)\n", argv[1], WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  fprintf(stderr, "real %.3f\nuser %.3f\nsys %.3f\n", real, seconds(usage.ru_utime), seconds(usage.ru_stime));
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
