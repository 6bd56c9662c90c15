// Queued signals: order and values, what a receiver is told, who may send what, the limit of pending signals, and waiting
// for signals without a handler.

#include "tests/signals.h"

#include <pthread.h>
#include <sys/resource.h>

using namespace signals;

namespace {

// The C library's starts again by itself.
long wait_for(const sigset_t* set, siginfo_t* info, const timespec* time_out) {
  return syscall(SYS_rt_sigtimedwait, set, info, time_out, 8);
}

using Numbers = const int[];

constexpr timespec no_time = {0, 0};
constexpr timespec long_time = {50, 0};

struct Information {  // what the kernel copies of siginfo_t
  int number, error, code, padding;
  int process;
  unsigned user;
  long value, more[2];
  char rest[128 - 48];
};
static_assert(sizeof(Information) == 128);

long queue(int process, int signal, const Information& information) {
  return syscall(SYS_rt_sigqueueinfo, process, signal, &information);
}

void block(const sigset_t& set) {
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
}

void unblock(const sigset_t& set) {
  CHECK_EQ(sigprocmask(SIG_UNBLOCK, &set, nullptr), 0);
}

// Every bit that the sender gives arrives, in a handler and in sigwaitinfo.
void test_information_is_passed_on() {
  const Information given{0, 77, -5, 0, 0x01234567, 0x89abcdef, 0x1122334455667788, {0x99aabbccddeeff, -1}, {}};
  const sigset_t set = only(SIGRTMIN + 3);
  static Information told;
  on_info(SIGRTMIN + 3, [](int, siginfo_t* info, void*) { memcpy(&told, info, sizeof told); });
  const auto compare = [&] {
    CHECK_EQ(told.number, SIGRTMIN + 3);
    CHECK_EQ(told.error, 77);
    CHECK_EQ(told.code, -5);
    CHECK_EQ(told.process, given.process);
    CHECK_EQ(told.user, given.user);
    CHECK_EQ(told.value, given.value);
    CHECK_EQ(told.more[0], given.more[0]);
    CHECK_EQ(told.more[1], given.more[1]);
  };
  CHECK_EQ(queue(getpid(), SIGRTMIN + 3, given), 0);
  compare();
  block(set);
  CHECK_EQ(queue(getpid(), SIGRTMIN + 3, given), 0);
  told = {};
  CHECK_EQ(sigwaitinfo(&set, reinterpret_cast<siginfo_t*>(&told)), SIGRTMIN + 3);
  compare();
  unblock(set);
}

void test_who_may_send_what() {
  Information information{};
  const pid_t other = fork();
  if (other == 0) {
    for (;;) { pause(); }
  }
  information.code = SI_USER;
  CHECK_ERRNO(queue(other, SIGUSR1, information), EPERM);
  CHECK_ERRNO(queue(0x3fffffff, SIGUSR1, information), EPERM);
  information.code = SI_TKILL;
  CHECK_ERRNO(queue(other, SIGUSR1, information), EPERM);
  CHECK_ERRNO(syscall(SYS_rt_tgsigqueueinfo, other, other, SIGUSR1, &information), EPERM);
  CHECK_EQ(queue(getpid(), 0, information), 0);
  information.code = SI_QUEUE;
  CHECK_EQ(queue(other, 0, information), 0);
  CHECK_ERRNO(queue(0x3fffffff, SIGUSR1, information), ESRCH);
  CHECK_ERRNO(queue(other, 65, information), EINVAL);
  CHECK_ERRNO(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, 16), EFAULT);
  CHECK_ERRNO(syscall(SYS_rt_tgsigqueueinfo, -1, other, SIGUSR1, &information), EINVAL);
  CHECK_ERRNO(syscall(SYS_rt_tgsigqueueinfo, getpid(), other, SIGUSR1, &information), ESRCH);
  // Whether the receiver exists is told before whether there is such a signal.
  CHECK_ERRNO(kill(0x3fffffff, 65), ESRCH);
  CHECK_ERRNO(kill(other, 65), EINVAL);
  CHECK_ERRNO(kill(other, -1), EINVAL);
  CHECK_ERRNO(syscall(SYS_kill, INT32_MIN, SIGUSR1), ESRCH);
  CHECK_ERRNO(syscall(SYS_tgkill, getpid(), 0x3fffffff, 65), ESRCH);
  CHECK_ERRNO(syscall(SYS_tkill, 0, SIGUSR1), EINVAL);
  CHECK_EQ(kill(other, SIGKILL), 0);
  CHECK_EQ(waitpid(other, nullptr, 0), other);
}

// First what was sent to the thread, in order of numbers, then what was sent to the process; faults' signals before others.
void test_order() {
  static int order[8];
  static volatile int count;
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : Numbers{SIGUSR1, SIGUSR2, SIGHUP, SIGSEGV, SIGRTMIN}) {
    sigaddset(&set, signal);
    struct sigaction action{};
    action.sa_handler = [](int number) {
      order[count] = number;
      count = count + 1;
    };
    sigfillset(&action.sa_mask);
    CHECK_EQ(sigaction(signal, &action, nullptr), 0);
  }
  block(set);
  CHECK_EQ(kill(getpid(), SIGHUP), 0);
  CHECK_EQ(kill(getpid(), SIGRTMIN), 0);
  CHECK_EQ(raise(SIGUSR2), 0);
  CHECK_EQ(raise(SIGUSR1), 0);
  CHECK_EQ(raise(SIGSEGV), 0);
  siginfo_t info{};
  CHECK_EQ(wait_for(&set, &info, &no_time), SIGSEGV);
  CHECK_EQ(wait_for(&set, &info, &no_time), SIGUSR1);
  CHECK_EQ(wait_for(&set, &info, &no_time), SIGUSR2);
  CHECK_EQ(wait_for(&set, &info, &no_time), SIGHUP);
  CHECK_EQ(wait_for(&set, &info, &no_time), SIGRTMIN);
  CHECK_ERRNO(wait_for(&set, &info, &no_time), EAGAIN);
  // Frames are put on the stack in that order, so the handlers run in the opposite one.
  CHECK_EQ(kill(getpid(), SIGHUP), 0);
  CHECK_EQ(raise(SIGUSR2), 0);
  CHECK_EQ(raise(SIGUSR1), 0);
  count = 0;
  // Each handler blocks everything, so the second one runs when the first is over.
  unblock(set);
  CHECK_EQ(count, 3);
  CHECK_EQ(order[0], SIGUSR1);
  CHECK_EQ(order[1], SIGUSR2);
  CHECK_EQ(order[2], SIGHUP);
  for (const int signal : Numbers{SIGUSR1, SIGUSR2, SIGHUP, SIGSEGV, SIGRTMIN}) { on(signal, SIG_DFL); }
}

// What is ignored by default is not lost while it is blocked, nor while somebody waits for it.
void test_waiting_for_ignored_signals() {
  const sigset_t set = only(SIGCHLD);
  block(set);
  siginfo_t info{};
  CHECK_EQ(kill(getpid(), SIGCHLD), 0);
  CHECK(pending(SIGCHLD));
  CHECK_EQ(wait_for(&set, &info, &no_time), SIGCHLD);
  const pid_t child = fork();
  if (child == 0) {
    check_sleep_us(20000);
    _exit(9);
  }
  CHECK_EQ(wait_for(&set, &info, &long_time), SIGCHLD);
  CHECK_EQ(info.si_code, CLD_EXITED);
  CHECK_EQ(info.si_pid, child);
  CHECK_EQ(info.si_status, 9);
  CHECK_EQ(waitpid(child, nullptr, 0), child);
  unblock(set);
}

void test_wait_is_interrupted() {
  on(SIGUSR2, count_signal, SA_RESTART);
  const sigset_t set = only(SIGUSR1);
  block(set);
  handled = 0;
  const pid_t child = fork();
  if (child == 0) {
    const pid_t parent = getppid();
    check_sleep_us(20000);
    kill(parent, SIGUSR2);
    _exit(0);
  }
  CHECK_ERRNO(wait_for(&set, nullptr, &long_time), EINTR);
  CHECK_EQ(handled, 1);
  CHECK_EQ(waitpid(child, nullptr, 0), child);
  const timespec bad = {0, 1000000000};
  CHECK_ERRNO(wait_for(&set, nullptr, &bad), EINVAL);
  CHECK_ERRNO(syscall(SYS_rt_sigtimedwait, &set, nullptr, nullptr, 4), EINVAL);
  unblock(set);
  on(SIGUSR2, SIG_DFL);
}

// The limit counts every signal that waits with information. Only those with a value are refused.
void test_limit() {
  const sigset_t set = only(SIGRTMIN);
  const int status = status_of_child([&] {
    block(set);
    rlimit limit{};
    CHECK_EQ(getrlimit(RLIMIT_SIGPENDING, &limit), 0);
    limit.rlim_cur = 0;
    CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &limit), 0);
    CHECK_ERRNO(sigqueue(getpid(), SIGRTMIN, {}), EAGAIN);
    CHECK(!pending(SIGRTMIN));
    CHECK_EQ(kill(getpid(), SIGRTMIN), 0);  // arrives, but nothing is known of it
    siginfo_t info{};
    CHECK_EQ(wait_for(&set, &info, &no_time), SIGRTMIN);
    CHECK_EQ(info.si_code, SI_USER);
    CHECK_EQ(info.si_pid, 0);
    const sigset_t usual = only(SIGUSR1);
    block(usual);
    CHECK_EQ(kill(getpid(), SIGUSR1), 0);
    CHECK_EQ(wait_for(&usual, &info, &no_time), SIGUSR1);
    CHECK_EQ(info.si_pid, getpid());
    return 0;
  });
  CHECK_EQ(status, 0);
}

// A process signal goes to a thread that can take it, also when the one that was to take it blocks it meanwhile or ends.
void test_somebody_takes_it() {
  static volatile int taken;
  static volatile bool waiting;
  on(SIGUSR1, [](int) { taken = taken + 1; });
  for (int turn = 0; turn < 20 * check_effort; ++turn) {
    taken = 0;
    waiting = false;
    pthread_t other{};
    CHECK_EQ(pthread_create(
                 &other, nullptr,
                 [](void*) -> void* {
                   waiting = true;
                   const timespec moment = {0, 1000000};
                   while (taken == 0) { nanosleep(&moment, nullptr); }
                   return nullptr;
                 },
                 nullptr),
             0);
    while (!waiting) { check_sleep_us(100); }
    const sigset_t set = only(SIGUSR1);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
    CHECK_EQ(kill(getpid(), SIGUSR1), 0);
    CHECK_EQ(pthread_join(other, nullptr), 0);
    CHECK_EQ(taken, 1);
    CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, nullptr), 0);
  }
  on(SIGUSR1, SIG_DFL);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("signalqueue", argc, argv);
  test_information_is_passed_on();
  test_who_may_send_what();
  test_order();
  test_waiting_for_ignored_signals();
  test_wait_is_interrupted();
  test_limit();
  test_somebody_takes_it();
  return check_done();
}
