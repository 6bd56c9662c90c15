// What a call does happens once, and all of it, though another thread of the process forks in the middle: threads are made, messages and
// signals are taken, handlers are set.

#include "tests/signals.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

namespace {

using namespace signals;

volatile bool stop = false;

// Straight to the kernel: a C library lets nobody make a thread meanwhile.
void* fork_again_and_again(void*) {
  while (!stop) {
    const pid_t child = static_cast<pid_t>(syscall(SYS_fork));
    if (child == 0) { _exit(0); }
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, nullptr, 0), child);
  }
  return nullptr;
}

int count_threads() {
  DIR* const tasks = opendir("/proc/self/task");
  CHECK(tasks != nullptr);
  int count = -2;  // but for . and ..
  while (readdir(tasks) != nullptr) { ++count; }
  closedir(tasks);
  return count;
}

void test_threads() {
  for (long turn = 0; turn < 300 * check_effort; ++turn) {
    pthread_t thread{};
    CHECK_EQ(pthread_create(&thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr), 0);
    CHECK_EQ(pthread_join(thread, nullptr), 0);
  }
  for (int tries = 0; count_threads() != 2; ++tries) {  // this one, and the one that forks
    CHECK(tries < 3000);
    check_sleep_us(1000);
  }
}

void test_messages() {
  int ends[2];
  CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
  for (long turn = 0; turn < 2000 * check_effort; ++turn) {
    CHECK_EQ(send(ends[0], &turn, sizeof turn, 0), static_cast<long>(sizeof turn));
    long got = -1;
    iovec piece = {&got, sizeof got};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    CHECK_EQ(recvmsg(ends[1], &header, MSG_DONTWAIT), static_cast<long>(sizeof got));
    CHECK_EQ(got, turn);
  }
  close(ends[0]);
  close(ends[1]);
}

void test_signals() {
  const sigset_t set = only(SIGRTMIN);
  const timespec none{};
  for (int turn = 0; turn < 2000 * check_effort; ++turn) {
    sigval value{};
    value.sival_int = turn;
    CHECK_EQ(sigqueue(getpid(), SIGRTMIN, value), 0);
    siginfo_t info{};
    CHECK_EQ(sigtimedwait(&set, &info, &none), SIGRTMIN);
    CHECK_EQ(info.si_value.sival_int, turn);
  }
}

void test_actions() {
  using Handler = void (*)(int);
  const Handler handlers[] = {[](int) {}, [](int) { count_signal(0); }};
  struct sigaction action{}, old{};
  action.sa_handler = handlers[1];
  CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  for (long turn = 0; turn < 2000 * check_effort; ++turn) {
    action.sa_handler = handlers[turn % 2];
    CHECK_EQ(sigaction(SIGUSR1, &action, &old), 0);
    CHECK_EQ(old.sa_handler == handlers[(turn + 1) % 2], 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("besideforks", argc, argv);
  const sigset_t set = only(SIGRTMIN);  // so that it is waited for
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  pthread_t forks{};
  CHECK_EQ(pthread_create(&forks, nullptr, fork_again_and_again, nullptr), 0);
  test_threads();
  test_messages();
  test_signals();
  test_actions();
  stop = true;
  CHECK_EQ(pthread_join(forks, nullptr), 0);
  return check_done();
}
