// What processes share: a child that is the caller's sibling (CLONE_PARENT), unshare, and what a child takes from its creator.

#include "tests/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

// As fork, with these flags too. Without a stack of its own the child goes on here, so CLONE_VM needs CLONE_VFORK and a child that ends.
long clone_here(unsigned long flags) {
  return syscall(SYS_clone, flags, 0, 0, 0, 0);
}

// The caller's caller finds the child among its own, with the signal that its own are to send.
void test_sibling(unsigned long more) {
  const pid_t between = fork();
  CHECK(between >= 0);
  if (between == 0) {
    const pid_t parent = getppid();
    const long sibling = clone_here(CLONE_PARENT | more);
    if (sibling == 0) { _exit(getppid() == parent ? 40 : 41); }
    CHECK(sibling > 0);
    CHECK_ERRNO(waitpid(-1, nullptr, 0), ECHILD);
    _exit(42);
  }
  int status = 0;
  CHECK_EQ(waitpid(between, &status, 0), between);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), 42);
  CHECK(waitpid(-1, &status, 0) > 0);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), 40);
  CHECK_ERRNO(waitpid(-1, &status, 0), ECHILD);
}

bool is_open(int descriptor) {
  return fcntl(descriptor, F_GETFD) >= 0;
}

// A child that shares its parent's files until it asks for its own, or executes a program.
void test_unshare() {
  CHECK_EQ(unshare(0), 0);
  CHECK_EQ(unshare(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM), 0);
  CHECK_EQ(unshare(CLONE_SIGHAND | CLONE_VM | CLONE_THREAD), 0);  // a single thread shares nothing of that
  CHECK_ERRNO(unshare(1), EINVAL);
  CHECK_ERRNO(unshare(-1), EINVAL);
  const int file = open("/", O_RDONLY);
  const int second = open("/", O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0 && second >= 0);
  const auto in_sharing_child = [&](auto&& body) {
    const long child = clone_here(CLONE_FILES | SIGCHLD);
    CHECK(child >= 0);
    if (child == 0) {
      body();
      _exit(0);
    }
    int status = -1;
    CHECK_EQ(waitpid(static_cast<pid_t>(child), &status, 0), child);
    CHECK_EQ(status, 0);
  };
  in_sharing_child([&] {
    CHECK_EQ(unshare(CLONE_FILES), 0);
    CHECK_EQ(close(file), 0);
  });
  CHECK(is_open(file));
  in_sharing_child([&] { CHECK_EQ(syscall(SYS_close_range, file, file, 2), 0); });  // CLOSE_RANGE_UNSHARE
  CHECK(is_open(file));
  in_sharing_child([&] { execl("/bin/true", "true", nullptr); });
  CHECK(is_open(second));
  in_sharing_child([&] { CHECK_EQ(close(file), 0); });
  CHECK(!is_open(file));
  CHECK_EQ(close(second), 0);
}

// The time that a wake-up may be late starts as the creator's, and that is what one goes back to.
void test_timer_slack() {
  const int before = prctl(PR_GET_TIMERSLACK);
  CHECK_EQ(prctl(PR_SET_TIMERSLACK, 70000), 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK_EQ(prctl(PR_GET_TIMERSLACK), 70000);
    CHECK_EQ(prctl(PR_SET_TIMERSLACK, 90000), 0);
    CHECK_EQ(prctl(PR_SET_TIMERSLACK, 0), 0);
    CHECK_EQ(prctl(PR_GET_TIMERSLACK), 70000);
    _exit(0);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(prctl(PR_SET_TIMERSLACK, 0), 0);
  CHECK_EQ(prctl(PR_GET_TIMERSLACK), before);
}

// The number of a thread stands for its process, where a process is asked for.
void test_thread_numbers() {
  static volatile pid_t number = 0;
  static volatile int go_on = 0;
  pthread_t thread;
  const auto body = [](void*) -> void* {
    number = static_cast<pid_t>(syscall(SYS_gettid));
    while (go_on == 0) { check_sleep_us(1000); }
    return nullptr;
  };
  CHECK_EQ(pthread_create(&thread, nullptr, body, nullptr), 0);
  while (number == 0) { check_sleep_us(1000); }
  CHECK_EQ(kill(number, 0), 0);
  void* list = nullptr;
  size_t size = 0;
  CHECK_EQ(syscall(SYS_get_robust_list, number, &list, &size), 0);
  CHECK_EQ(size, 24);
  CHECK_ERRNO(syscall(SYS_get_robust_list, 0x7fff'fff0, &list, &size), ESRCH);
  go_on = 1;
  CHECK_EQ(pthread_join(thread, nullptr), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("clonetest", argc, argv);
  test_sibling(0);
  test_sibling(SIGUSR1);  // the signal does not count
  test_sibling(CLONE_VFORK);
  test_unshare();
  test_timer_slack();
  test_thread_numbers();
  return check_done();
}
