// Processes, threads, credentials and scheduling. See operation.h.
#include "probes/failures/operation.h"

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace failures {
namespace {

constexpr uid_t somebody = 1000;

long wait_for(pid_t child) {
  int status = -1;
  TRY_CALL(waitpid(child, &status, 0));
  CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
  return 0;
}

long fork_one() {
  const pid_t child = fork();
  TRY_CALL(child);
  if (child == 0) _exit(0);
  return wait_for(child);
}

void* nothing(void* argument) {
  return argument;
}

long make_thread() {
  pthread_t thread;
  const int error = pthread_create(&thread, nullptr, nothing, nullptr);
  return error != 0 ? from_error(error) : from_error(pthread_join(thread, nullptr));
}

long execute() {
  char name[] = "failures", option[] = "--nothing", text[2000];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = '\0';
  char* arguments[] = {name, option, text, nullptr};
  char* environment[] = {text, nullptr};
  return execve("/proc/self/exe", arguments, environment);
}

constexpr char script[] = "/tmp/failures.script";

long execute_script() {
  char name[] = "script";
  char* arguments[] = {name, nullptr};
  char* environment[] = {nullptr};
  return execve(script, arguments, environment);
}

void make_script() {
  const int file = open(script, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  constexpr char text[] = "#!/probes/failures --nothing\n";
  CHECK_EQ(write(file, text, sizeof text - 1), sizeof text - 1);
  CHECK_EQ(close(file), 0);
}

long set_user() {
  return setuid(somebody);
}
long set_users() {
  TRY_CALL(setresgid(somebody, 0, somebody));
  return setresuid(somebody, 0, somebody);
}
long set_groups() {
  gid_t groups[1000];
  for (gid_t i = 0; i < 1000; ++i) groups[i] = 5000 - i;
  TRY_CALL(setgroups(1000, groups));
  return setgroups(0, groups);
}
long set_capabilities() {
  struct {
    unsigned version = 0x20080522;  // _LINUX_CAPABILITY_VERSION_3
    int process = 0;
  } header;
  unsigned data[6] = {};
  return syscall(SYS_capset, &header, data);
}
// The rights of a file's owner are taken away by execve.
long become_and_execute() {
  TRY_CALL(set_groups());
  TRY_CALL(set_user());
  return execute();
}

struct Attributes {
  unsigned size = sizeof(Attributes), policy = 0;
  unsigned long flags = 0;
  int nice = 0;
  unsigned priority = 0;
  unsigned long runtime = 0, due = 0, period = 0;
};

long reserve() {
  Attributes deadline;
  deadline.policy = 6;
  deadline.runtime = 1'000'000;
  deadline.due = deadline.period = 100'000'000;
  TRY_CALL(syscall(SYS_sched_setattr, 0, &deadline, 0));
  deadline.runtime = 2'000'000;
  TRY_CALL(syscall(SYS_sched_setattr, 0, &deadline, 0));
  const Attributes other;
  return syscall(SYS_sched_setattr, 0, &other, 0);
}
long reserve_and_end() {
  Attributes deadline;
  deadline.policy = 6;
  deadline.runtime = 1'000'000;
  deadline.due = deadline.period = 100'000'000;
  return syscall(SYS_sched_setattr, 0, &deadline, 0);
}
long real_time() {
  sched_param highest = {}, none = {};
  highest.sched_priority = 3;
  TRY_CALL(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &highest));
  return syscall(SYS_sched_setscheduler, 0, 0, &none);
}
long set_affinity() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(0, &cores);
  return sched_setaffinity(0, sizeof cores, &cores);
}

long queue_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 3);
  TRY_CALL(sigprocmask(SIG_BLOCK, &set, nullptr));
  for (int i = 0; i < 20; ++i) TRY_CALL(sigqueue(getpid(), SIGRTMIN + 3, sigval{.sival_int = i}));
  return 0;
}

constexpr Operation operations[] = {
    {"fork", fork_one},
    {"thread", make_thread},
    {"execve", execute, nullptr, true},
    {"execve of a script", execute_script, nullptr, true},
    {"setuid", set_user},
    {"setresuid, setresgid", set_users},
    {"setgroups", set_groups},
    {"capset", set_capabilities},
    {"setuid, execve", become_and_execute, nullptr, true},
    {"deadline", reserve},
    {"deadline until its end", reserve_and_end},
    {"real time", real_time},
    {"affinity", set_affinity},
    {"sigqueue", queue_signals},
};

}  // namespace

Operations process_operations() {
  make_script();
  return operations;
}

}  // namespace failures
