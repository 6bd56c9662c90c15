// Threads and processes that live for a moment.
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

namespace {

constexpr size_t page = 4096;
// Beside this program in /host of the guest; its interpreter and its library are there as well (lab/bench/operations.py).
constexpr char dynamic_program[] = "/host/nothing-dynamic";
constexpr int status_not_executed = 126;

void* nothing(void*) {
  return nullptr;
}

void fork_and_wait(Run& run) {
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) {
      const pid_t child = fork();
      if (child < 0) run.failed("fork");
      if (child == 0) _exit(0);
      if (waitpid(child, nullptr, 0) != child) run.failed("waitpid");
    }
    run.stop();
  }
}

int execute(Run& run, const char* program, const char* argument) {
  const pid_t child = fork();
  if (child < 0) run.failed("fork");
  if (child == 0) {
    const char* arguments[] = {program, argument, nullptr};
    const char* environment[] = {nullptr};
    execve(program, const_cast<char**>(arguments), const_cast<char**>(environment));
    _exit(status_not_executed);
  }
  int status = -1;
  if (waitpid(child, &status, 0) != child) run.failed("waitpid");
  return status;
}

void execute_often(Run& run, const char* program, const char* argument) {
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) {
      if (execute(run, program, argument) != 0) run.failed(program);
    }
    run.stop();
  }
}

}  // namespace

void thread_create(Run& run) {
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) {
      pthread_t thread;
      if (pthread_create(&thread, nullptr, nothing, nullptr) != 0) run.failed("pthread_create");
      if (pthread_join(thread, nullptr) != 0) run.failed("pthread_join");
    }
    run.stop();
  }
}

void fork_exit(Run& run) {
  fork_and_wait(run);
}

void fork_large(Run& run) {
  constexpr size_t size = 64 << 20;
  char* memory = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) run.failed("mmap");
  for (size_t at = 0; at < size; at += page) memory[at] = 1;
  fork_and_wait(run);
  munmap(memory, size);
}

void exec_static(Run& run) {
  char self[256];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) run.failed("/proc/self/exe");
  self[length] = '\0';
  execute_often(run, self, "--nothing");
}

void exec_dynamic(Run& run) {
  if (access(dynamic_program, X_OK) != 0) run.unsupported(dynamic_program);
  if (execute(run, dynamic_program, nullptr) != 0) {
    errno = ENOEXEC;
    run.unsupported("the program does not run");
  }
  execute_often(run, dynamic_program, nullptr);
}
