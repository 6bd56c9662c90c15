// Which calls go on after a signal: after a handler with and without SA_RESTART, and after a stop that no handler sees, where
// a sleep keeps its deadline. Source: signal(7), "Interruption of system calls and library functions by signal handlers".

#include "tests/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>

using namespace signals;

namespace {

// The C library's starts again by itself.
long wait_for(const sigset_t* set, siginfo_t* info, const timespec* time_out) {
  return syscall(SYS_rt_sigtimedwait, set, info, time_out, 8);
}

// Waits until the process sleeps ('S') or has stopped ('T'), or for a moment.
void await_state(pid_t process, char state) {
  char name[32];
  snprintf(name, sizeof name, "/proc/%d/stat", process);
  for (int tries = 0; tries < 300; ++tries) {
    char text[256] = {};
    const int file = open(name, O_RDONLY);
    if (file >= 0) {
      const ssize_t size = read(file, text, sizeof text - 1);
      close(file);
      const char* end = size > 0 ? strrchr(text, ')') : nullptr;
      if (end != nullptr && end[1] == ' ' && end[2] == state) { return; }
    }
    check_sleep_us(500);
  }
}

unsigned word;
constexpr int futex_wait_private = 128;

long wait_at_word(const timespec* time_out) {
  return syscall(SYS_futex, &word, futex_wait_private, 0, time_out, nullptr, 0);
}

// Runs `call` in a child that is sent `signals` while it waits, and answers the child's exit code.
template <int Count, typename Call>
int code_of(const int (&numbers)[Count], Call call) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) { _exit(call()); }
  for (const int signal : numbers) {
    await_state(child, signal == SIGCONT ? 'T' : 'S');
    CHECK_EQ(kill(child, signal), 0);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status));
  return WEXITSTATUS(status);
}

// A call and what ends it by itself after a while: 0 when it went on to that end, 4 for EINTR.
struct Waiting {
  const char* name;
  int (*run)();
  bool restarts;  // with SA_RESTART
  bool goes_on;   // after a stop
};

int result_of(long result) {
  return result >= 0 ? 0 : errno == ETIMEDOUT || errno == EAGAIN ? 0 : errno;
}

int read_late() {
  int ends[2];
  if (pipe(ends) != 0) { return 100; }
  if (fork() == 0) {
    check_sleep_us(200000);
    _exit(static_cast<int>(write(ends[1], "x", 1)));
  }
  char byte = 0;
  return result_of(read(ends[0], &byte, 1));
}

int wait_late() {
  const pid_t child = fork();
  if (child == 0) {
    check_sleep_us(200000);
    _exit(0);
  }
  return result_of(waitpid(child, nullptr, 0));
}

int futex_without_end() {
  if (fork() == 0) {
    check_sleep_us(200000);
    kill(getppid(), SIGKILL);  // nothing else would end it
    _exit(0);
  }
  return result_of(wait_at_word(nullptr));
}

int sigwait_late() {
  const sigset_t set = only(SIGUSR2);
  const timespec time = {0, 200000000};
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return result_of(wait_for(&set, nullptr, &time));
}

// ---- sockets: a wait with a time limit ends with EINTR in any case, one without goes on ----

constexpr timeval socket_limit = {0, 200000};

struct Pair {
  int ends[2];
  explicit Pair(int option) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) { _exit(100); }
    if (option != 0 && setsockopt(ends[0], SOL_SOCKET, option, &socket_limit, sizeof socket_limit) != 0) { _exit(101); }
  }
  void fill() const {
    char bytes[4096] = {};
    while (send(ends[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0) { continue; }
  }
};

int receive_with_limit() {
  char byte = 0;
  return result_of(recv(Pair{SO_RCVTIMEO}.ends[0], &byte, 1, 0));
}

int read_with_limit() {
  char byte = 0;
  return result_of(read(Pair{SO_RCVTIMEO}.ends[0], &byte, 1));
}

int send_with_limit() {
  const Pair pair{SO_SNDTIMEO};
  pair.fill();
  return result_of(send(pair.ends[0], "x", 1, MSG_NOSIGNAL));
}

int write_with_limit() {
  const Pair pair{SO_SNDTIMEO};
  pair.fill();
  return result_of(write(pair.ends[0], "x", 1));
}

// A listener with a name of its own, and its address.
int listener(sockaddr_un& name, socklen_t& size) {
  name = {};
  name.sun_family = AF_UNIX;
  size = static_cast<socklen_t>(
      offsetof(sockaddr_un, sun_path) + 1 +
      static_cast<size_t>(snprintf(name.sun_path + 1, 60, "signalrestart-%d", static_cast<int>(getpid()))));
  const int made = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(made, reinterpret_cast<sockaddr*>(&name), size) != 0 || listen(made, 0) != 0) { _exit(102); }
  return made;
}

int accept_with_limit() {
  sockaddr_un name;
  socklen_t size = 0;
  const int made = listener(name, size);
  if (setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &socket_limit, sizeof socket_limit) != 0) { return 101; }
  return result_of(accept(made, nullptr, nullptr));
}

int connect_with_limit() {
  sockaddr_un name;
  socklen_t size = 0;
  (void)listener(name, size);
  for (;;) {  // until no more connections may wait to be accepted
    const int client = socket(AF_UNIX, SOCK_STREAM, 0);
    if (setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &socket_limit, sizeof socket_limit) != 0) { return 101; }
    if (connect(client, reinterpret_cast<sockaddr*>(&name), size) != 0) { return result_of(-1); }
  }
}

int receive_late() {
  const Pair pair{0};
  if (fork() == 0) {
    check_sleep_us(200000);
    _exit(static_cast<int>(write(pair.ends[1], "x", 1)));
  }
  char byte = 0;
  return result_of(recv(pair.ends[0], &byte, 1, 0));
}

const Waiting calls[] = {
    {"read", read_late, true, true},
    {"wait4", wait_late, true, true},
    {"nanosleep",
     [] {
       const timespec time = {0, 200000000};
       return result_of(nanosleep(&time, nullptr));
     },
     false, true},
    {"clock_nanosleep, absolute",
     [] {
       timespec time{};
       clock_gettime(CLOCK_MONOTONIC, &time);
       time.tv_nsec += 200000000;
       if (time.tv_nsec >= 1000000000) {
         time.tv_nsec -= 1000000000;
         ++time.tv_sec;
       }
       return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
     },
     false, true},
    {"poll", [] { return result_of(poll(nullptr, 0, 200)); }, false, true},
    {"select",
     [] {
       timeval time = {0, 200000};
       return result_of(select(0, nullptr, nullptr, nullptr, &time));
     },
     false, true},
    {"futex with a time-out",
     [] {
       const timespec time = {0, 200000000};
       return result_of(wait_at_word(&time));
     },
     false, true},
    {"sigtimedwait", sigwait_late, false, false},
    {"recv", receive_late, true, true},
    {"recv with a limit", receive_with_limit, false, false},
    {"read of a socket with a limit", read_with_limit, false, false},
    {"send with a limit", send_with_limit, false, false},
    {"write to a socket with a limit", write_with_limit, false, false},
    {"accept with a limit", accept_with_limit, false, false},
    {"connect with a limit", connect_with_limit, false, false},
};

// On a busy machine the call may be over before the signal comes: what is meant must be seen once in a few tries.
template <int Count>
void expect_code(const Waiting& call, const int (&numbers)[Count], int wanted) {
  int code = -1;
  for (int tries = 0; tries < 8 && code != wanted; ++tries) { code = code_of(numbers, call.run); }
  if (code != wanted) { fprintf(stderr, "%s\n", call.name); }
  CHECK_EQ(code, wanted);
}

void test_handlers() {
  for (const Waiting& call : calls) {
    on(SIGUSR1, count_signal);
    expect_code(call, {SIGUSR1}, EINTR);
    on(SIGUSR1, count_signal, SA_RESTART);
    expect_code(call, {SIGUSR1}, call.restarts ? 0 : EINTR);
  }
  on(SIGUSR1, SIG_DFL);
}

void test_stops() {
  for (const Waiting& call : calls) {
    const int64_t start = check_now_ns();
    expect_code(call, {SIGSTOP, SIGCONT}, call.goes_on ? 0 : EINTR);
    if (call.goes_on) { CHECK(check_now_ns() - start >= 180000000); }
  }
}

// A handler that runs after the stop ends what does not restart; one without SA_RESTART ends everything.
void test_stop_then_handler() {
  on(SIGCONT, count_signal);
  for (const Waiting& call : calls) { expect_code(call, {SIGSTOP, SIGCONT}, EINTR); }
  on(SIGCONT, count_signal, SA_RESTART);
  for (const Waiting& call : calls) { expect_code(call, {SIGSTOP, SIGCONT}, call.restarts ? 0 : EINTR); }
  on(SIGCONT, SIG_DFL);
}

// Over several stops the time does not start anew.
void test_deadline_is_kept() {
  const int64_t start = check_now_ns();
  CHECK_EQ(code_of({SIGSTOP, SIGCONT, SIGSTOP, SIGCONT, SIGSTOP, SIGCONT},
                   [] {
                     const timespec time = {0, 400000000};
                     const int64_t begin = check_now_ns();
                     if (nanosleep(&time, nullptr) != 0) { return 1; }
                     const int64_t slept = check_now_ns() - begin;
                     return slept >= 400000000 && slept < 4000000000 ? 0 : 2;
                   }),
           0);
  CHECK(check_now_ns() - start >= 400000000);
}

// A relative sleep that a handler ends says what is left.
void test_time_left() {
  on(SIGUSR1, count_signal);
  CHECK_EQ(code_of({SIGUSR1},
                   [] {
                     const timespec time = {20, 0};
                     timespec left{};
                     if (nanosleep(&time, &left) == 0 || errno != EINTR) { return 1; }
                     return left.tv_sec < 20 && left.tv_sec > 5 ? 0 : 2;
                   }),
           0);
  on(SIGUSR1, SIG_DFL);
}

// restart_syscall means nothing when no call was stopped.
void test_restart_call() {
  CHECK_ERRNO(syscall(SYS_restart_syscall), EINTR);
}

// A wait without an end goes on after a handler with SA_RESTART: the child is ended by force.
void test_endless_futex() {
  on(SIGUSR1, count_signal, SA_RESTART);
  const pid_t child = fork();
  if (child == 0) { _exit(futex_without_end()); }
  await_state(child, 'S');
  CHECK_EQ(kill(child, SIGUSR1), 0);
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  on(SIGUSR1, count_signal);
  CHECK_EQ(code_of({SIGUSR1}, [] { return result_of(wait_at_word(nullptr)); }), EINTR);
  on(SIGUSR1, SIG_DFL);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("signalrestart", argc, argv);
  test_restart_call();
  test_handlers();
  test_stops();
  test_stop_then_handler();
  test_deadline_is_kept();
  test_time_left();
  test_endless_futex();
  return check_done();
}
