// Starts the copies, keeps them in step, and measures their rounds.
#include "team.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

// The counter and the clock at one moment. Under QEMU's instruction count and in Bochs a tick is an instruction.
Round now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const unsigned long counter = __builtin_ia32_rdtsc();
  return {static_cast<long>(counter), time.tv_sec * 1'000'000'000 + time.tv_nsec};
}

void pin_to(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) == 0) return;
  fprintf(stderr, "operations: cannot run on core %d: %s\n", core, strerror(errno));
  _exit(status_failed);
}

struct Copy {
  Team* team;
  int number;
  pthread_t thread;
};

void* run_copy(void* argument) {
  const Copy& copy = *static_cast<Copy*>(argument);
  pin_to(copy.team->cores[copy.number]);
  Run run{*copy.team, copy.number, copy.team->count};
  copy.team->operation->run(run);
  return nullptr;
}

}  // namespace

bool Run::next_round() {
  if (++round_ == rounds) return false;
  team_.measured[copy_][round_] = {};
  __atomic_fetch_add(&team_.arrived, 1, __ATOMIC_SEQ_CST);
  long turns = 0;
  while (__atomic_load_n(&team_.arrived, __ATOMIC_SEQ_CST) < team_.copies * (round_ + 1)) {
    if (__atomic_load_n(&team_.ending, __ATOMIC_SEQ_CST) != 0) _exit(status_failed);
    __builtin_ia32_pause();
    if (++turns % 1024 == 0) sched_yield();  // there may be more copies than cores
  }
  return true;
}

void Run::start() {
  begin_ = now();
}

void Run::stop() {
  const Round end = now();
  Round& measured = team_.measured[copy_][round_];
  measured.ticks += end.ticks - begin_.ticks;
  measured.nanoseconds += end.nanoseconds - begin_.nanoseconds;
}

void Run::unsupported(const char* what) {
  const int error = errno;
  if (__atomic_exchange_n(&team_.ending, 1, __ATOMIC_SEQ_CST) == 0) {
    printf("operations: name=%s unsupported=%d (%s: %s)\n", team_.operation->name, error, what, strerror(error));
    fflush(stdout);
  }
  _exit(status_unsupported);
}

void Run::failed(const char* what) {
  const int error = errno;
  if (__atomic_exchange_n(&team_.ending, 1, __ATOMIC_SEQ_CST) == 0) {
    fprintf(stderr, "operations: %s: %s: %s\n", team_.operation->name, what, strerror(error));
  }
  _exit(status_failed);
}

const char* Run::file_name() {
  snprintf(file_name_, sizeof file_name_, "/tmp/operations-%d", copy_);
  return file_name_;
}

int run_processes(Team& team) {
  fflush(nullptr);
  for (int number = 0; number < team.copies; ++number) {
    const pid_t child = fork();
    if (child < 0) {
      fprintf(stderr, "operations: cannot start copy %d: %s\n", number, strerror(errno));
      team.ending = 1;
      return status_failed;
    }
    if (child == 0) {
      Copy copy{&team, number, {}};
      run_copy(&copy);
      _exit(0);
    }
  }
  int result = 0;
  for (int left = team.copies; left > 0; --left) {
    int status = 0;
    while (wait(&status) < 0 && errno == EINTR) {}
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : status_failed;
    if (WIFSIGNALED(status)) {
      fprintf(stderr, "operations: a copy was ended by signal %d\n", WTERMSIG(status));
      __atomic_store_n(&team.ending, 1, __ATOMIC_SEQ_CST);
    }
    if (code > result) result = code;
  }
  return result;
}

int run_threads(Team& team) {
  static Copy copies[most_copies];
  for (int number = 0; number < team.copies; ++number) {
    copies[number] = {&team, number, {}};
    const int error = pthread_create(&copies[number].thread, nullptr, run_copy, &copies[number]);
    if (error != 0) {
      fprintf(stderr, "operations: cannot start thread %d: %s\n", number, strerror(error));
      return status_failed;
    }
  }
  for (int number = 0; number < team.copies; ++number) pthread_join(copies[number].thread, nullptr);
  return 0;
}
