// Signals and threads: one for a thread arrives at that thread alone, one for the process at a thread that does not block it.

#include "tests/signals.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

namespace {

using namespace signals;

thread_local volatile int handled_here;

void count_here(int) {
  handled_here = handled_here + 1;
}

void test_threads() {
  constexpr int count = 8;
  const int signals = static_cast<int>(100 * check_effort);
  static int acknowledged[count];
  static int wanted;
  wanted = signals;
  static volatile bool stop;
  stop = false;
  on(SIGUSR2, count_here);
  struct Member {
    pthread_t thread;
    int index;
    pid_t number;
  };
  static Member members[count];
  for (int index = 0; index < count; ++index) {
    acknowledged[index] = 0;
    members[index] = {{}, index, 0};
    CHECK_EQ(pthread_create(
                 &members[index].thread, nullptr,
                 [](void* argument) -> void* {
                   auto& self = *static_cast<Member*>(argument);
                   __atomic_store_n(&self.number, thread_number(), __ATOMIC_SEQ_CST);
                   // Some compute, some sleep.
                   while (!stop) {
                     __atomic_store_n(&acknowledged[self.index], handled_here, __ATOMIC_SEQ_CST);
                     if (self.index % 2 == 0) {
                       check_spin(300);
                     } else {
                       const timespec moment = {0, 100000};
                       nanosleep(&moment, nullptr);
                     }
                   }
                   CHECK_EQ(handled_here, wanted);
                   return nullptr;
                 },
                 &members[index]),
             0);
  }
  // Each signal arrives at its thread, and at no other: the next one goes when the last was seen.
  for (int turn = 1; turn <= signals; ++turn) {
    for (auto& member : members) {
      while (__atomic_load_n(&member.number, __ATOMIC_SEQ_CST) == 0) { check_sleep_us(100); }
      if (turn % 2 == 0) {
        CHECK_EQ(pthread_kill(member.thread, SIGUSR2), 0);
      } else {
        CHECK_EQ(syscall(SYS_tgkill, getpid(), member.number, SIGUSR2), 0);
      }
    }
    for (int index = 0; index < count; ++index) {
      for (int tries = 0; __atomic_load_n(&acknowledged[index], __ATOMIC_SEQ_CST) < turn; ++tries) {
        CHECK(tries < 40000);
        check_sleep_us(100);
      }
      CHECK_EQ(__atomic_load_n(&acknowledged[index], __ATOMIC_SEQ_CST), turn);
    }
  }
  CHECK_EQ(handled_here, 0);

  // A signal to the process goes to a thread that does not block it.
  const sigset_t set = only(SIGUSR2);
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  wanted = signals;  // their own count stays: this one is counted elsewhere
  static volatile sig_atomic_t elsewhere;
  on(SIGUSR2, [](int) { elsewhere = elsewhere + 1; });
  CHECK_EQ(kill(getpid(), SIGUSR2), 0);
  for (int tries = 0; elsewhere == 0; ++tries) {
    CHECK(tries < 40000);
    check_sleep_us(100);
  }
  CHECK(!pending(SIGUSR2));
  stop = true;
  for (const auto& member : members) { CHECK_EQ(pthread_join(member.thread, nullptr), 0); }
  CHECK_EQ(elsewhere, 1);
  // Now all that is left blocks it: it waits for the process.
  CHECK_EQ(kill(getpid(), SIGUSR2), 0);
  CHECK(pending(SIGUSR2));
  CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, nullptr), 0);
  CHECK_EQ(elsewhere, 2);

  // A deadly signal to one thread ends the process.
  expect_killed(SIGTERM, [] {
    pthread_t thread{};
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          for (;;) { pause(); }
        },
        nullptr);
    pthread_kill(thread, SIGTERM);
    for (;;) { pause(); }
    return 0;
  });
}

// A signal to the process that meets changing masks is never left lying: one thread has it open at every moment.
void test_masks_that_change() {
  static volatile bool stop, sleeper_left;
  static unsigned taken;
  stop = false;
  sleeper_left = false;
  taken = 0;
  on(SIGUSR1, [](int) { __atomic_fetch_add(&taken, 1, __ATOMIC_SEQ_CST); });
  const sigset_t set = only(SIGUSR1);
  pthread_t threads[2];
  pthread_t sleeper{};  // always has it open, and is woken for what the others had been chosen for
  CHECK_EQ(pthread_create(
               &sleeper, nullptr,
               [](void*) -> void* {
                 while (!stop) { pause(); }
                 sleeper_left = true;
                 return nullptr;
               },
               nullptr),
           0);
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  for (auto& thread : threads) {
    CHECK_EQ(pthread_create(
                 &thread, nullptr,
                 [](void*) -> void* {
                   const sigset_t own = only(SIGUSR1);
                   while (!stop) {
                     pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
                     pthread_sigmask(SIG_BLOCK, &own, nullptr);
                   }
                   return nullptr;
                 },
                 nullptr),
             0);
  }
  for (unsigned sent = 1; sent <= 300 * static_cast<unsigned>(check_effort); ++sent) {
    CHECK_EQ(kill(getpid(), SIGUSR1), 0);
    for (int tries = 0; __atomic_load_n(&taken, __ATOMIC_SEQ_CST) < sent; ++tries) {
      CHECK(tries < 40000);
      check_sleep_us(50);
    }
  }
  stop = true;
  for (const auto thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }
  while (!sleeper_left) {  // a signal that comes just before it pauses does not end that pause
    CHECK_EQ(pthread_kill(sleeper, SIGUSR1), 0);
    check_sleep_us(1000);
  }
  CHECK_EQ(pthread_join(sleeper, nullptr), 0);
  CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, nullptr), 0);
}

// What is sent to a thread at its end is gone with it: nothing of it counts any more among the signals that wait.
void test_signals_at_the_end() {
  const int signal = SIGRTMIN + 1;
  const sigset_t set = only(signal);
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  static pid_t number;
  for (long turn = 0; turn < 300 * check_effort; ++turn) {
    number = 0;
    pthread_t thread{};
    CHECK_EQ(pthread_create(
                 &thread, nullptr,
                 [](void*) -> void* {
                   __atomic_store_n(&number, thread_number(), __ATOMIC_SEQ_CST);
                   return nullptr;
                 },
                 nullptr),
             0);
    while (__atomic_load_n(&number, __ATOMIC_SEQ_CST) == 0) {}
    while (syscall(SYS_tgkill, getpid(), number, signal) == 0 || errno == EAGAIN) {}
    CHECK_EQ(errno, ESRCH);
    CHECK_EQ(pthread_join(thread, nullptr), 0);
  }
  rlimit few{};
  CHECK_EQ(getrlimit(RLIMIT_SIGPENDING, &few), 0);
  few.rlim_cur = 8;
  CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &few), 0);
  CHECK_EQ(sigqueue(getpid(), signal, {}), 0);
  siginfo_t info{};
  CHECK_EQ(sigwaitinfo(&set, &info), signal);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("signalthreads", argc, argv);
  test_threads();
  test_masks_that_change();
  test_signals_at_the_end();
  return check_done();
}
