// Makes an imbalance on purpose: many threads on one core, which may then leave it. What becomes of them is told by the
// migration policy alone, since none of them ever sleeps.
//
//   crowd spread          ends when the threads have been seen on every core
//   crowd preempted N     ends when each thread has lost its core N times
//   crowd bound N         the same, and none of them may ever leave
//
// Twice as many threads as there are cores may go anywhere; one more is bound to the first core for ever, and must never be
// seen elsewhere (status 1). Prints "crowd: cores N used M moved K": on how many cores the free ones ran, and how many of
// them ran on another one than the first. Nothing here depends on how fast the machine is.

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

namespace {

constexpr int most_threads = 2 * CPU_SETSIZE;

int first_core;
int core_count;
bool until_spread;
long preemptions_wanted;

bool may_begin;          // atomics, all of these
bool stranger;           // the bound one was seen elsewhere
int seen[CPU_SETSIZE];
int used;
int moved;
int running;             // free threads that have not ended

cpu_set_t only(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return set;
}

[[noreturn]] void fail(const char* what) {
  perror(what);
  exit(2);
}

long preemptions() {
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) != 0) fail("getrusage");
  return usage.ru_nivcsw;
}

bool is_over() {
  if (until_spread) return __atomic_load_n(&used, __ATOMIC_RELAXED) == core_count;
  return preemptions() >= preemptions_wanted;
}

void look_round() {
  volatile unsigned long sum = 0;
  for (unsigned long i = 0; i < 2000; ++i) sum = sum + i;
}

void* free_thread(void*) {
  while (!__atomic_load_n(&may_begin, __ATOMIC_ACQUIRE)) look_round();
  bool has_moved = false;
  do {
    const int core = sched_getcpu();
    if (__atomic_exchange_n(&seen[core], 1, __ATOMIC_RELAXED) == 0) __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
    has_moved = has_moved || core != first_core;
    look_round();
  } while (!is_over());
  if (has_moved) __atomic_fetch_add(&moved, 1, __ATOMIC_RELAXED);
  __atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
  return nullptr;
}

void* bound_thread(void*) {
  while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) != 0) {
    if (sched_getcpu() != first_core) __atomic_store_n(&stranger, true, __ATOMIC_RELAXED);
    look_round();
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  until_spread = argc == 2 && strcmp(argv[1], "spread") == 0;
  const bool bound_for_ever = argc == 3 && strcmp(argv[1], "bound") == 0;
  if (bound_for_ever || (argc == 3 && strcmp(argv[1], "preempted") == 0)) preemptions_wanted = strtol(argv[2], nullptr, 10);
  if (!until_spread && preemptions_wanted <= 0) {
    fprintf(stderr, "usage: crowd spread | crowd preempted N | crowd bound N\n");
    return 2;
  }
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) fail("sched_getaffinity");
  core_count = CPU_COUNT(&all);
  while (!CPU_ISSET(first_core, &all)) ++first_core;
  const cpu_set_t home = only(first_core);
  if (sched_setaffinity(0, sizeof home, &home) != 0) fail("sched_setaffinity");

  running = 2 * core_count;
  static pthread_t threads[most_threads];
  for (int i = 0; i < 2 * core_count; ++i) {
    if (pthread_create(&threads[i], nullptr, free_thread, nullptr) != 0) fail("pthread_create");
  }
  pthread_t bound;
  if (pthread_create(&bound, nullptr, bound_thread, nullptr) != 0) fail("pthread_create");
  for (int i = 0; i < 2 * core_count && !bound_for_ever; ++i) {
    if (pthread_setaffinity_np(threads[i], sizeof all, &all) != 0) fail("pthread_setaffinity_np");
  }
  __atomic_store_n(&may_begin, true, __ATOMIC_RELEASE);
  for (int i = 0; i < 2 * core_count; ++i) pthread_join(threads[i], nullptr);
  pthread_join(bound, nullptr);
  printf("crowd: cores %d used %d moved %d\n", core_count, used, moved);
  return stranger ? 1 : 0;
}
