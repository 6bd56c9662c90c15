// Futex waiters that are moved from word to word while their timeouts run out and others wake them: each wait ends once, and
// what wakers counted is what waiters were told. A timeout that looks for its thread where it no longer is shows as a wait
// without end.

#include "tests/check.h"

#include <pthread.h>
#include <sys/syscall.h>

namespace {

constexpr int FUTEX_WAIT_PRIVATE = 128;
constexpr int FUTEX_WAKE_PRIVATE = 129;
constexpr int FUTEX_REQUEUE_PRIVATE = 131;

constexpr int stations = 5;
constexpr int travellers = 6;
constexpr int movers = 3;

struct alignas(64) Word {
  uint32_t value;
};
Word station[stations];
uint64_t waits[travellers];
uint64_t told;
uint64_t counted;
int64_t end_time;
bool finish;

bool over(const bool* flag) {
  return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

void* travel(void* argument) {
  const auto index = reinterpret_cast<uintptr_t>(argument);
  for (uint64_t round = index; check_now_ns() < end_time; ++round) {
    const timespec soon = {0, static_cast<long>(1000 + round % 7 * 15000)};
    if (syscall(SYS_futex, &station[0], FUTEX_WAIT_PRIVATE, 0, &soon, nullptr, 0) == 0) {
      __atomic_fetch_add(&told, 1, __ATOMIC_SEQ_CST);
    } else {
      CHECK_EQ(errno, ETIMEDOUT);
    }
    __atomic_fetch_add(&waits[index], 1, __ATOMIC_SEQ_CST);
  }
  return nullptr;
}

// Sends all on by one station, again and again; the last station's are woken.
void* move(void* argument) {
  const auto first = reinterpret_cast<uintptr_t>(argument);
  while (!over(&finish)) {
    for (int from = static_cast<int>(first); from < stations; ++from) {
      long woken = 0;
      if (from + 1 < stations) {
        CHECK(syscall(SYS_futex, &station[from], FUTEX_REQUEUE_PRIVATE, 0, travellers, &station[from + 1], 0) >= 0);
      } else {
        woken = syscall(SYS_futex, &station[from], FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
        CHECK(woken >= 0);
      }
      __atomic_fetch_add(&counted, static_cast<uint64_t>(woken), __ATOMIC_SEQ_CST);
    }
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("futexchain", argc, argv);
  end_time = check_now_ns() + 400000000 * check_effort;
  pthread_t threads[travellers];
  pthread_t others[movers];
  for (uintptr_t i = 0; i < travellers; ++i) {
    CHECK_EQ(pthread_create(&threads[i], nullptr, travel, reinterpret_cast<void*>(i)), 0);
  }
  for (uintptr_t i = 0; i < movers; ++i) { CHECK_EQ(pthread_create(&others[i], nullptr, move, reinterpret_cast<void*>(i)), 0); }
  for (const auto thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }
  __atomic_store_n(&finish, true, __ATOMIC_SEQ_CST);
  for (const auto thread : others) { CHECK_EQ(pthread_join(thread, nullptr), 0); }
  CHECK_EQ(told, counted);
  for (const uint64_t count : waits) { CHECK(count > 0); }
  return check_done();
}
