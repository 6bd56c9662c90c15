// How late a thread runs that is woken on a busy core: the core's other thread never calls the system, so somebody must
// interrupt it. The best of many wake-ups counts, because a busy host delays any one of them by as much as it likes.

#include "tests/futex_call.h"

#include <pthread.h>
#include <sched.h>

namespace {

using namespace futex_call;

constexpr int64_t best_allowed_ns = 4000000;  // a tick

Word wanted;
Word seen;
int64_t woken_at;
bool over;

void use_core(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  CHECK_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

int last_core() {
  cpu_set_t set;
  CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  int core = CPU_SETSIZE - 1;
  while (!CPU_ISSET(core, &set)) { --core; }
  return core;
}

void* compute(void* core) {
  use_core(*static_cast<int*>(core));
  while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {}
  return nullptr;
}

void* sleep_and_note(void* core) {
  use_core(*static_cast<int*>(core));
  for (Word round = 0; !__atomic_load_n(&over, __ATOMIC_SEQ_CST); ++round) {
    while (load(&wanted) == round) { futex(&wanted, wait_private, round); }
    __atomic_store_n(&woken_at, check_now_ns(), __ATOMIC_SEQ_CST);
    store(&seen, round + 1);
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("wakelatency", argc, argv);
  int core = last_core();
  pthread_t busy = start(compute, &core);
  pthread_t sleeper = start(sleep_and_note, &core);
  const auto rounds = static_cast<Word>(50 * check_effort);
  int64_t best = INT64_MAX;
  for (Word round = 1; round <= rounds; ++round) {
    check_sleep_us(2000);  // the sleeper sleeps again, and the other thread has the core
    const bool last = round == rounds;
    if (last) { __atomic_store_n(&over, true, __ATOMIC_SEQ_CST); }
    const int64_t before = check_now_ns();
    store(&wanted, round);
    futex(&wanted, wake_private, 1);
    while (load(&seen) != round) {
      CHECK(check_now_ns() - before < 20000000000);
      check_sleep_us(100);
    }
    const int64_t late = __atomic_load_n(&woken_at, __ATOMIC_SEQ_CST) - before;
    if (!last && late < best) { best = late; }
  }
  CHECK(best >= 0);
  CHECK(best < best_allowed_ns);
  join(busy);
  join(sleeper);
  return check_done();
}
