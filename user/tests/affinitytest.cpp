// On which core a thread runs: setting and reading its set of cores, the core that getcpu names, inheritance by
// threads and forks, moving others, yielding, and the errors. Works with any number of cores.

#include "tests/check.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

cpu_set_t allowed;
int cores[CPU_SETSIZE];
int core_count;

int current_core() {
  unsigned core = ~0u;
  CHECK_EQ(syscall(SYS_getcpu, &core, nullptr, nullptr), 0);
  return static_cast<int>(core);
}

void set_cores(pid_t thread, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  CHECK_EQ(sched_setaffinity(thread, sizeof set, &set), 0);
}

// The only core that the thread may use; -1 if several.
int only_core(pid_t thread) {
  cpu_set_t set;
  CHECK_EQ(sched_getaffinity(thread, sizeof set, &set), 0);
  if (CPU_COUNT(&set) != 1) { return -1; }
  int core = 0;
  while (!CPU_ISSET(core, &set)) { ++core; }
  return core;
}

void restore() {
  CHECK_EQ(sched_setaffinity(0, sizeof allowed, &allowed), 0);
}

void find_cores() {
  CHECK_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) { cores[core_count++] = core; }
  }
  CHECK(core_count > 0);
  CHECK(CPU_ISSET(current_core(), &allowed));
}

void test_errors() {
  unsigned long words[CPU_SETSIZE / 64] = {};
  const long size = syscall(SYS_sched_getaffinity, 0, sizeof words, words);
  CHECK(size > 0 && size <= static_cast<long>(sizeof words) && size % 8 == 0);
  CHECK_ERRNO(syscall(SYS_sched_getaffinity, 0, 4, words), EINVAL);
  CHECK_ERRNO(syscall(SYS_sched_getaffinity, 0, 0, words), EINVAL);
  CHECK_ERRNO(syscall(SYS_sched_getaffinity, 0, sizeof words, 8), EFAULT);
  CHECK_ERRNO(syscall(SYS_sched_getaffinity, 0x3fffffff, sizeof words, words), ESRCH);
  CHECK_ERRNO(syscall(SYS_sched_setaffinity, 0x3fffffff, sizeof words, words), ESRCH);
  CHECK_ERRNO(syscall(SYS_sched_setaffinity, 0, sizeof words, 8), EFAULT);

  cpu_set_t none;
  CPU_ZERO(&none);
  CHECK_ERRNO(sched_setaffinity(0, sizeof none, &none), EINVAL);
  CHECK_ERRNO(sched_setaffinity(0, 0, &none), EINVAL);
  CPU_SET(CPU_SETSIZE - 1, &none);
  if (!CPU_ISSET(CPU_SETSIZE - 1, &allowed)) {
    CHECK_ERRNO(sched_setaffinity(0, sizeof none, &none), EINVAL);  // no such core
  }
    // Cores that do not exist are left out when others do.
  CPU_SET(cores[0], &none);
  CHECK_EQ(sched_setaffinity(0, sizeof none, &none), 0);
  CHECK_EQ(only_core(0), cores[0]);
  restore();
  cpu_set_t now;
  CHECK_EQ(sched_getaffinity(0, sizeof now, &now), 0);
  CHECK(CPU_EQUAL(&now, &allowed));
}

// Once the call has returned, the thread runs there and only there.
void test_each_core() {
  for (long round = 0; round < 5 * check_effort; ++round) {
    for (int index = 0; index < core_count; ++index) {
      set_cores(0, cores[index]);
      CHECK_EQ(current_core(), cores[index]);
      CHECK_EQ(sched_getcpu(), cores[index]);
      CHECK_EQ(only_core(0), cores[index]);
      check_sleep_us(200);
      CHECK_EQ(current_core(), cores[index]);
      for (int turn = 0; turn < 20; ++turn) {
        CHECK_EQ(sched_yield(), 0);
        CHECK_EQ(current_core(), cores[index]);
      }
    }
  }
  restore();
}

int64_t end_time;

void* stay(void* argument) {
  const int core = static_cast<int>(reinterpret_cast<intptr_t>(argument));
  set_cores(0, core);
  do {
    CHECK_EQ(current_core(), core);
    check_spin(500);
  } while (check_now_ns() < end_time);
  return nullptr;
}

// Twice as many pinned threads as cores, all computing.
void test_crowd() {
  end_time = check_now_ns() + 150000000 * check_effort;
  constexpr int limit = 64;
  pthread_t threads[limit];
  const int count = 2 * core_count < limit ? 2 * core_count : limit;
  for (int index = 0; index < count; ++index) {
    CHECK_EQ(pthread_create(&threads[index], nullptr, stay,
                            reinterpret_cast<void*>(static_cast<intptr_t>(cores[index % core_count]))),
             0);
  }
  for (int index = 0; index < count; ++index) { CHECK_EQ(pthread_join(threads[index], nullptr), 0); }
}

void test_inheritance() {
  const int core = cores[core_count - 1];
  set_cores(0, core);
  pthread_t thread{};
  void* seen = nullptr;
  CHECK_EQ(pthread_create(
               &thread, nullptr,
               [](void*) -> void* {
                 const int mine = only_core(0);
                 CHECK_EQ(current_core(), mine);
                 return reinterpret_cast<void*>(static_cast<intptr_t>(mine));
               },
               nullptr),
           0);
  CHECK_EQ(pthread_join(thread, &seen), 0);
  CHECK_EQ(reinterpret_cast<intptr_t>(seen), core);

  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) { _exit(only_core(0) == core && current_core() == core ? 0 : 1); }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  restore();
}

// Moving another thread while it computes, and while it sleeps.

volatile pid_t other;
volatile bool stop;
int seen_core = -1;

void* wander(void* argument) {
  other = static_cast<pid_t>(syscall(SYS_gettid));
  while (!stop) {
    __atomic_store_n(&seen_core, current_core(), __ATOMIC_SEQ_CST);
    if (argument != nullptr) {
      check_sleep_us(300);
    } else {
      check_spin(200);
    }
  }
  return nullptr;
}

void test_moving() {
  using Flags = const bool[];
  for (const bool sleeping : Flags{false, true}) {
    stop = false;
    other = 0;
    pthread_t thread{};
    CHECK_EQ(pthread_create(&thread, nullptr, wander, sleeping ? &thread : nullptr), 0);
    while (other == 0) { check_sleep_us(200); }
    for (long round = 0; round < 10 * check_effort; ++round) {
      const int core = cores[round % core_count];
      set_cores(other, core);
      CHECK_EQ(only_core(other), core);
            // What it reports from now on is the new core; one older report may still be under way.
      __atomic_store_n(&seen_core, -1, __ATOMIC_SEQ_CST);
      for (int tries = 0; __atomic_load_n(&seen_core, __ATOMIC_SEQ_CST) != core; ++tries) {
        CHECK(tries < 20000);
        check_sleep_us(200);
      }
      check_sleep_us(500);
      CHECK_EQ(__atomic_load_n(&seen_core, __ATOMIC_SEQ_CST), core);
    }
    stop = true;
    CHECK_EQ(pthread_join(thread, nullptr), 0);
  }
}

// A sleeping thread is moved and woken at once, again and again: both requests may reach its core together, and its arrival
// elsewhere may be on the way. Each time it must run, and go to where it may.
int round_wanted;
int round_seen;
bool sleeper_ends;
bool mover_ends;

void* sleep_until_told(void*) {
  for (int seen = 0;;) {
    while (__atomic_load_n(&round_wanted, __ATOMIC_SEQ_CST) == seen) {
      syscall(SYS_futex, &round_wanted, 128, seen, nullptr, nullptr, 0);  // FUTEX_WAIT, private
    }
    ++seen;
    if (__atomic_load_n(&sleeper_ends, __ATOMIC_SEQ_CST)) { return nullptr; }
    __atomic_store_n(&round_seen, seen, __ATOMIC_SEQ_CST);
  }
}

void* move_about(void* thread) {
  const pid_t target = *static_cast<pid_t*>(thread);
  for (int i = 0; !__atomic_load_n(&mover_ends, __ATOMIC_SEQ_CST); ++i) { set_cores(target, cores[i % core_count]); }
  return nullptr;
}

void wake_sleeper(int round) {
  __atomic_store_n(&round_wanted, round, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &round_wanted, 129, 1, nullptr, nullptr, 0);  // FUTEX_WAKE, private
}

void test_moved_and_woken() {
  static pid_t sleeper;
  pthread_t thread{};
  pthread_t mover{};
  CHECK_EQ(pthread_create(
               &thread, nullptr,
               [](void*) -> void* {
                 __atomic_store_n(&sleeper, gettid(), __ATOMIC_SEQ_CST);
                 return sleep_until_told(nullptr);
               },
               nullptr),
           0);
  while (__atomic_load_n(&sleeper, __ATOMIC_SEQ_CST) == 0) { check_sleep_us(100); }
  CHECK_EQ(pthread_create(&mover, nullptr, move_about, &sleeper), 0);
  const int64_t end = check_now_ns() + 300000000 * check_effort;
  int round = 0;
  while (check_now_ns() < end) {
    set_cores(sleeper, cores[round % core_count]);
    wake_sleeper(++round);
    const int64_t patience = check_now_ns() + 20000000000;
    while (__atomic_load_n(&round_seen, __ATOMIC_SEQ_CST) != round) {
      CHECK(check_now_ns() < patience);
      sched_yield();
    }
  }
  CHECK(round > 0);
  __atomic_store_n(&mover_ends, true, __ATOMIC_SEQ_CST);
  CHECK_EQ(pthread_join(mover, nullptr), 0);
  __atomic_store_n(&sleeper_ends, true, __ATOMIC_SEQ_CST);
  wake_sleeper(++round);
  CHECK_EQ(pthread_join(thread, nullptr), 0);
}

// Yielding lets the other thread on the same core run.
void test_yield() {
  static int turn;
  turn = 0;
  set_cores(0, cores[0]);
  pthread_t thread{};
  CHECK_EQ(pthread_create(
               &thread, nullptr,
               [](void*) -> void* {
                 for (int mine = 1; mine < 40; mine += 2) {
                   while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != mine) { CHECK_EQ(sched_yield(), 0); }
                   __atomic_store_n(&turn, mine + 1, __ATOMIC_SEQ_CST);
                 }
                 return nullptr;
               },
               nullptr),
           0);
  for (int mine = 0; mine < 40; mine += 2) {
    while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != mine) { CHECK_EQ(sched_yield(), 0); }
    __atomic_store_n(&turn, mine + 1, __ATOMIC_SEQ_CST);
  }
  CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(turn, 40);
  restore();
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("affinitytest", argc, argv);
  find_cores();
  test_errors();
  test_each_core();
  test_crowd();
  test_inheritance();
  test_moving();
  test_moved_and_woken();
  test_yield();
  return check_done();
}
