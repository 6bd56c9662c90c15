// Processes and signals as files: pidfd_open, CLONE_PIDFD, pidfd_send_signal, pidfd_getfd, waitid(P_PIDFD), signalfd; and how poll and
// epoll see them.

#include "tests/children.h"
#include "tests/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>

using namespace signals;

namespace {

constexpr idtype_t by_file = static_cast<idtype_t>(3);  // P_PIDFD

int open_process(pid_t process, unsigned flags = 0) {
  return static_cast<int>(syscall(434, process, flags));
}
long send_by(int file, int signal, siginfo_t* info = nullptr, unsigned flags = 0) {
  return syscall(424, file, signal, info, flags);
}

short ready(int file, int time_out_ms) {
  pollfd polled = {file, POLLIN, 0};
  const int count = poll(&polled, 1, time_out_ms);
  CHECK(count >= 0);
  return polled.revents;
}

pid_t sleeping_child() {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (;;) { pause(); }
  }
  return child;
}

// What /proc tells of a file has this line.
bool told_of(int file, const char* line) {
  char path[32], text[512];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", file);
  const int own = open(path, O_RDONLY);
  CHECK(own >= 0);
  const ssize_t size = read(own, text, sizeof text - 1);
  CHECK(size > 0);
  text[size] = 0;
  CHECK_EQ(close(own), 0);
  return strstr(text, line) != nullptr;
}

void test_process_file() {
  const pid_t child = sleeping_child();
  const int file = open_process(child);
  CHECK(file >= 0);
  CHECK_EQ(fcntl(file, F_GETFD), FD_CLOEXEC);
  CHECK_EQ(ready(file, 0), 0);
  char line[32];
  snprintf(line, sizeof line, "\nPid:\t%d\n", child);
  CHECK(told_of(file, line));
  char byte = 0;
  CHECK_ERRNO(read(file, &byte, 1), EINVAL);
  CHECK_EQ(send_by(file, 0), 0);
  siginfo_t info{};
  CHECK_EQ(waitid(by_file, static_cast<id_t>(file), &info, WEXITED | WNOHANG), 0);
  CHECK_EQ(info.si_pid, 0);
  CHECK_EQ(send_by(file, SIGTERM), 0);
  CHECK_EQ(ready(file, 20000) & POLLIN, POLLIN);
  CHECK_EQ(waitid(by_file, static_cast<id_t>(file), &info, WEXITED | WNOWAIT), 0);
  CHECK_EQ(info.si_pid, child);
  CHECK_EQ(info.si_code, CLD_KILLED);
  CHECK_EQ(info.si_status, SIGTERM);
  CHECK_EQ(send_by(file, 0), 0);  // not waited for yet
  CHECK_EQ(waitid(by_file, static_cast<id_t>(file), &info, WEXITED), 0);
  CHECK_ERRNO(send_by(file, 0), ESRCH);
  CHECK_ERRNO(waitid(by_file, static_cast<id_t>(file), &info, WEXITED), ECHILD);
  CHECK(told_of(file, "\nPid:\t-1\n"));
  CHECK_EQ(ready(file, 0) & POLLIN, POLLIN);
  CHECK_EQ(close(file), 0);
}

// A process's directory in /proc stands for it as well, but only for sending signals.
void test_directory() {
  const pid_t child = sleeping_child();
  char name[32];
  snprintf(name, sizeof name, "/proc/%d", child);
  const int directory = open(name, O_RDONLY | O_DIRECTORY);
  CHECK(directory >= 0);
  const int unusable = open(name, O_PATH);
  CHECK_ERRNO(send_by(unusable, 0), EBADF);
  const int below = open("/proc/self/fd", O_RDONLY);
  CHECK_ERRNO(send_by(below, 0), EBADF);
  const int above = open("/proc", O_RDONLY);
  CHECK_ERRNO(send_by(above, 0), EBADF);
  siginfo_t info{};
  CHECK_ERRNO(waitid(by_file, static_cast<id_t>(directory), &info, WEXITED), EBADF);
  CHECK_EQ(send_by(directory, 0), 0);
  info.si_signo = SIGUSR1;
  CHECK_ERRNO(send_by(directory, SIGUSR2, &info), EINVAL);
  info.si_signo = SIGUSR2;
  info.si_code = SI_USER;
  CHECK_ERRNO(send_by(directory, SIGUSR2, &info), EPERM);
  CHECK_EQ(send_by(directory, SIGTERM), 0);
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(WTERMSIG(status), SIGTERM);
  CHECK_ERRNO(send_by(directory, 0), ESRCH);
  for (const int file : children::Numbers{directory, unusable, below, above}) { CHECK_EQ(close(file), 0); }
}

void test_errors() {
  CHECK_ERRNO(open_process(0), EINVAL);
  CHECK_ERRNO(open_process(-1), EINVAL);
  CHECK_ERRNO(open_process(getpid(), 4), EINVAL);
  CHECK_ERRNO(open_process(0x3fffffff), ESRCH);
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  CHECK_ERRNO(send_by(ends[0], 0), EBADF);
  CHECK_ERRNO(send_by(999, 0), EBADF);
  siginfo_t info{};
  CHECK_ERRNO(waitid(by_file, static_cast<id_t>(ends[0]), &info, WEXITED), EBADF);
  CHECK_ERRNO(waitid(by_file, 999, &info, WEXITED), EBADF);
  const int self = open_process(getpid());
  CHECK(self >= 0);
  CHECK_ERRNO(waitid(by_file, static_cast<id_t>(self), &info, WEXITED), ECHILD);
  CHECK_ERRNO(send_by(self, 65), EINVAL);
  info = {};
  info.si_signo = SIGUSR1;
  CHECK_ERRNO(send_by(self, SIGUSR2, &info), EINVAL);
  // Files of others.
  CHECK_ERRNO(syscall(438, self, 999, 0), EBADF);
  CHECK_ERRNO(syscall(438, ends[0], 0, 0), EBADF);
  CHECK_ERRNO(syscall(438, self, ends[0], 1), EINVAL);
  const int same = static_cast<int>(syscall(438, self, ends[0], 0));
  CHECK(same >= 0);
  CHECK_EQ(fcntl(same, F_GETFD), FD_CLOEXEC);
  CHECK_EQ(write(ends[1], "x", 1), 1);
  char byte = 0;
  CHECK_EQ(read(same, &byte, 1), 1);
  for (const int file : children::Numbers{same, self, ends[0], ends[1]}) { CHECK_EQ(close(file), 0); }
}

// Without blocking, and from a clone that brings the file along.
void test_clone() {
  struct {
    uint64_t flags, file, child_number, parent_number, exit_signal, stack, stack_size, tls;
  } arguments = {};
  int file = -1;
  arguments.flags = 0x1000;
  arguments.file = reinterpret_cast<uint64_t>(&file);
  arguments.exit_signal = SIGCHLD;
  const long child = syscall(435, &arguments, sizeof arguments);
  CHECK(child >= 0);
  if (child == 0) {
    check_sleep_us(20000);
    _exit(7);
  }
  CHECK(file >= 0);
  CHECK_EQ(fcntl(file, F_GETFD), FD_CLOEXEC);
  const int epoll = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = file;
  CHECK_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event), 0);
  event = {};
  CHECK_EQ(epoll_wait(epoll, &event, 1, 20000), 1);
  CHECK_EQ(event.data.fd, file);
  siginfo_t info{};
  CHECK_EQ(waitid(by_file, static_cast<id_t>(file), &info, WEXITED), 0);
  CHECK_EQ(info.si_status, 7);
  CHECK_EQ(close(epoll), 0);
  CHECK_EQ(close(file), 0);

  const pid_t sleeper = sleeping_child();
  file = open_process(sleeper, O_NONBLOCK);
  CHECK(file >= 0);
  CHECK_ERRNO(waitid(by_file, static_cast<id_t>(file), &info, WEXITED), EAGAIN);
  CHECK_EQ(send_by(file, SIGKILL), 0);
  CHECK_EQ(ready(file, 20000) & POLLIN, POLLIN);
  CHECK_EQ(waitid(by_file, static_cast<id_t>(file), &info, WEXITED), 0);
  CHECK_EQ(close(file), 0);
}

// ---- signalfd ----------------------------------------------------------------------------------------------------------

void test_signal_file() {
  sigset_t set = only(SIGUSR1);
  sigaddset(&set, SIGRTMIN);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
  const int file = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  CHECK(file >= 0);
  CHECK_EQ(fcntl(file, F_GETFD), FD_CLOEXEC);
  char line[32];
  snprintf(line, sizeof line, "\nsigmask:\t%016llx\n", 1ull << (SIGUSR1 - 1) | 1ull << (SIGRTMIN - 1));
  CHECK(told_of(file, line));
  signalfd_siginfo told[3] = {};
  CHECK_ERRNO(read(file, told, sizeof told), EAGAIN);
  CHECK_ERRNO(read(file, told, 127), EINVAL);
  CHECK_EQ(ready(file, 0), 0);
  CHECK_EQ(kill(getpid(), SIGUSR1), 0);
  sigval value{};
  value.sival_int = 42;
  CHECK_EQ(sigqueue(getpid(), SIGRTMIN, value), 0);
  pollfd polled = {file, POLLIN | POLLRDNORM, 0};
  CHECK_EQ(poll(&polled, 1, 0), 1);
  CHECK_EQ(polled.revents, POLLIN);
  CHECK_EQ(lseek(file, 5, SEEK_SET), 0);
  CHECK_EQ(read(file, told, sizeof told), 2 * static_cast<long>(sizeof told[0]));
  CHECK_EQ(told[0].ssi_signo, SIGUSR1);
  CHECK_EQ(told[0].ssi_code, SI_USER);
  CHECK_EQ(told[0].ssi_pid, getpid());
  CHECK_EQ(told[1].ssi_signo, SIGRTMIN);
  CHECK_EQ(told[1].ssi_code, SI_QUEUE);
  CHECK_EQ(told[1].ssi_int, 42);
  CHECK(!pending(SIGUSR1));
  // Another set: the same file.
  const sigset_t other = only(SIGUSR2);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &other, nullptr), 0);
  CHECK_EQ(signalfd(file, &other, 0), file);
  CHECK_EQ(kill(getpid(), SIGUSR1), 0);
  CHECK_ERRNO(read(file, told, sizeof told), EAGAIN);
  CHECK_EQ(kill(getpid(), SIGUSR2), 0);
  CHECK_EQ(read(file, told, sizeof told), static_cast<long>(sizeof told[0]));
  CHECK_EQ(told[0].ssi_signo, SIGUSR2);
  CHECK_EQ(signalfd(file, &set, 0), file);
  CHECK_EQ(read(file, told, sizeof told), static_cast<long>(sizeof told[0]));
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  CHECK_ERRNO(signalfd(ends[0], &set, 0), EINVAL);
  CHECK_ERRNO(signalfd(999, &set, 0), EBADF);
  CHECK_ERRNO(syscall(SYS_signalfd4, -1, &set, 4, 0), EINVAL);
  CHECK_ERRNO(syscall(SYS_signalfd4, -1, &set, 8, 1), EINVAL);
  CHECK_ERRNO(syscall(SYS_signalfd4, -1, nullptr, 8, 0), EFAULT);
  CHECK_EQ(close(file), 0);
}

// A read waits, and so does epoll; a child that has inherited the file reads its own signals.
void test_waiting() {
  const sigset_t set = only(SIGUSR1);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
  const int file = signalfd(-1, &set, 0);
  CHECK(file >= 0);
  const pid_t parent = getpid();
  pid_t child = children::spawn([&] {
    check_sleep_us(30000);
    return kill(parent, SIGUSR1);
  });
  signalfd_siginfo told{};
  CHECK_EQ(read(file, &told, sizeof told), static_cast<long>(sizeof told));
  CHECK_EQ(told.ssi_pid, child);
  children::expect_exit(child, 0);

  const int epoll = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  CHECK_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event), 0);
  CHECK_EQ(epoll_wait(epoll, &event, 1, 0), 0);
  child = children::spawn([&] {
    check_sleep_us(30000);
    return kill(parent, SIGUSR1);
  });
  CHECK_EQ(epoll_wait(epoll, &event, 1, 20000), 1);
  CHECK_EQ(read(file, &told, sizeof told), static_cast<long>(sizeof told));
  CHECK_EQ(epoll_wait(epoll, &event, 1, 0), 0);
  children::expect_exit(child, 0);

  child = children::spawn([&] {
    CHECK_EQ(ready(file, 20000) & POLLIN, POLLIN);
    signalfd_siginfo own{};
    CHECK_EQ(read(file, &own, sizeof own), static_cast<long>(sizeof own));
    return own.ssi_pid == static_cast<uint32_t>(parent) ? 0 : 1;
  });
  check_sleep_us(20000);
  CHECK_EQ(kill(child, SIGUSR1), 0);
  children::expect_exit(child, 0);
  CHECK_EQ(ready(file, 0), 0);
  CHECK_EQ(close(epoll), 0);
  CHECK_EQ(close(file), 0);
}

// Stopped, continued and killed in a wait.
void test_stops() {
  for (const bool polls : children::Flags{false, true}) {
    const pid_t child = children::spawn([&] {
      const sigset_t set = only(SIGUSR1);
      sigprocmask(SIG_BLOCK, &set, nullptr);
      const int file = signalfd(-1, &set, 0);
      signalfd_siginfo told{};
      if (polls) { ready(file, -1); }
      CHECK_EQ(read(file, &told, sizeof told), static_cast<long>(sizeof told));
      return 5;
    });
    int status = 0;
    check_sleep_us(20000);
    CHECK_EQ(kill(child, SIGSTOP), 0);
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
    CHECK(WIFSTOPPED(status));
    CHECK_EQ(kill(child, SIGCONT), 0);
    check_sleep_us(10000);
    CHECK_EQ(kill(child, SIGUSR1), 0);
    children::expect_exit(child, 5);
  }
  const pid_t child = children::spawn([] {
    const sigset_t set = only(SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    const int file = signalfd(-1, &set, 0);
    signalfd_siginfo told{};
    return static_cast<int>(read(file, &told, sizeof told));
  });
  check_sleep_us(20000);
  CHECK_EQ(kill(child, SIGKILL), 0);
  children::expect_signal(child, SIGKILL);
}

// A signal for one thread is that thread's only.
void test_threads() {
  const sigset_t set = only(SIGUSR1);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
  static int file;
  file = signalfd(-1, &set, 0);
  static volatile pid_t number;
  pthread_t thread{};
  CHECK_EQ(pthread_create(
               &thread, nullptr,
               [](void*) -> void* {
                 number = thread_number();
                 signalfd_siginfo told{};
                 CHECK_EQ(read(file, &told, sizeof told), static_cast<long>(sizeof told));
                 CHECK_EQ(told.ssi_code, SI_TKILL);
                 return nullptr;
               },
               nullptr),
           0);
  while (number == 0) { check_sleep_us(1000); }
  CHECK_EQ(syscall(SYS_tgkill, getpid(), number, SIGUSR1), 0);
  CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(ready(file, 0), 0);
  CHECK_EQ(close(file), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("processfiles", argc, argv);
  test_process_file();
  test_directory();
  test_errors();
  test_clone();
  test_signal_file();
  test_waiting();
  test_stops();
  test_threads();
  return check_done();
}
