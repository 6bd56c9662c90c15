// membarrier: one side of an exclusion needs no barrier of its own when the other calls for one on all cores.

#include "tests/check.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

constexpr int query = 0, global = 1, private_expedited = 8, register_private_expedited = 16;

int barrier(int command, unsigned flags = 0) {
  return static_cast<int>(syscall(SYS_membarrier, command, flags, 0));
}

// Both write one and read the other; at least one must see what the other has written, in every round.
struct alignas(64) Line {
  volatile long value;
};
Line quick_wrote, slow_wrote, quick_saw, slow_saw, round_begun, quick_done;
long rounds;

void* quick_side(void*) {
  for (long round = 1; round <= rounds; ++round) {
    for (long turns = 0; round_begun.value < round; ++turns) {
      if (turns % 1000 == 999) sched_yield();
    }
    quick_wrote.value = round;
    __asm__ volatile("" : : : "memory");  // no barrier of the processor
    quick_saw.value = slow_wrote.value;
    __atomic_store_n(&quick_done.value, round, __ATOMIC_RELEASE);
  }
  return nullptr;
}

void check_exclusion(int command) {
  Line* const lines[] = {&quick_wrote, &slow_wrote, &quick_saw, &slow_saw, &round_begun, &quick_done};
  for (Line* line : lines) line->value = 0;
  pthread_t thread;
  CHECK_EQ(pthread_create(&thread, nullptr, quick_side, nullptr), 0);
  for (long round = 1; round <= rounds; ++round) {
    __atomic_store_n(&round_begun.value, round, __ATOMIC_SEQ_CST);
    slow_wrote.value = round;
    CHECK_EQ(barrier(command), 0);
    slow_saw.value = quick_wrote.value;
    for (long turns = 0; __atomic_load_n(&quick_done.value, __ATOMIC_ACQUIRE) < round; ++turns) {
      if (turns % 1000 == 999) sched_yield();
    }
    CHECK(slow_saw.value == round || quick_saw.value == round);
  }
  CHECK_EQ(pthread_join(thread, nullptr), 0);
}

// Several call at once while others come and go.
void* call_barriers(void*) {
  for (long i = 0; i < rounds; ++i) {
    CHECK_EQ(barrier(private_expedited), 0);
    if (i % 8 == 0) sched_yield();
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("barriertest", argc, argv);
  rounds = 400 * check_effort;
  const int commands = barrier(query);
  CHECK(commands > 0);
  CHECK_EQ(commands & private_expedited, private_expedited);
  CHECK_ERRNO(barrier(query, 1), EINVAL);
  CHECK_ERRNO(barrier(1 << 20), EINVAL);
  CHECK_ERRNO(barrier(private_expedited), EPERM);
  CHECK_ERRNO(barrier(register_private_expedited, 1), EINVAL);
  CHECK_EQ(barrier(register_private_expedited), 0);
  CHECK_EQ(barrier(private_expedited), 0);
  check_exclusion(private_expedited);
  if ((commands & global) != 0) {
    rounds = 20;
    check_exclusion(global);
    rounds = 400 * check_effort;
  }
  pthread_t threads[4];
  for (pthread_t& thread : threads) CHECK_EQ(pthread_create(&thread, nullptr, call_barriers, nullptr), 0);
  for (pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
  // A child has what its parent registered.
  const pid_t child = fork();
  if (child == 0) _exit(barrier(private_expedited) == 0 ? 0 : 1);
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  return check_done();
}
