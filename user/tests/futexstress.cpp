// Stress on futexes in which every wake-up is numbered or counted, so that a lost one shows (as a wait that runs into its
// long timeout, or as a difference): a ring of threads, a mutex of three states, wakes that race with timeouts.

#include "tests/futex_call.h"

#include <pthread.h>

namespace {

using namespace futex_call;

// Stress 1: a token goes round a ring of threads; its number tells whose turn it is. Each hand-over is one wake.

constexpr int ring_size = 6;
struct alignas(64) Seat {
  Word token;
};
Seat ring[ring_size];
int64_t stress_end;

void* ring_member(void* argument) {
  const auto self = reinterpret_cast<uintptr_t>(argument);
  Seat& mine = ring[self];
  Seat& next = ring[(self + 1) % ring_size];
  Word seen = 0;
  for (;;) {
    while (load(&mine.token) == seen) {
      if (futex(&mine.token, wait_private, seen, &long_time) != 0) {
        CHECK_EQ(errno, EAGAIN);  // ETIMEDOUT: the wake-up was lost
      }
    }
    const Word token = load(&mine.token);
    CHECK_EQ(token, seen + 1);
    seen = token;
    const bool last = self == 0 && check_now_ns() >= stress_end;
    static Word finishing;
    if (last) { store(&finishing, 1); }
    const bool finish = load(&finishing) != 0;
    if (self + 1 == ring_size) {
      // Round: the first seat's next number.
      if (finish) { return reinterpret_cast<void*>(static_cast<uintptr_t>(seen)); }
      store(&next.token, token + 1);
    } else {
      store(&next.token, token);
    }
    futex(&next.token, wake_private, 1);
    if (finish) { return reinterpret_cast<void*>(static_cast<uintptr_t>(seen)); }
  }
}

void test_ring() {
  stress_end = check_now_ns() + 200000000 * check_effort;
  pthread_t threads[ring_size];
  for (uintptr_t index = 0; index < ring_size; ++index) { threads[index] = start(ring_member, reinterpret_cast<void*>(index)); }
  store(&ring[0].token, 1);
  futex(&ring[0].token, wake_private, 1);
  const void* rounds = join(threads[0]);
  for (int index = 1; index < ring_size; ++index) { CHECK(join(threads[index]) == rounds); }
  CHECK(rounds != nullptr);
}

// Stress 2: a mutex of three states (free, taken, taken with sleepers) over a plain counter.

Word lock_word;
volatile uint64_t guarded;

void lock() {
  Word expected = 0;
  if (__atomic_compare_exchange_n(&lock_word, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) { return; }
  while (__atomic_exchange_n(&lock_word, 2, __ATOMIC_ACQUIRE) != 0) {
    if (futex(&lock_word, wait_private, 2, &long_time) != 0) { CHECK_EQ(errno, EAGAIN); }
  }
}

void unlock() {
  if (__atomic_exchange_n(&lock_word, 0, __ATOMIC_RELEASE) == 2) { futex(&lock_word, wake_private, 1); }
}

void* lock_often(void*) {
  uintptr_t turns = 0;
  while (check_now_ns() < stress_end) {
    for (int turn = 0; turn < 50; ++turn, ++turns) {
      lock();
      guarded = guarded + 1;
      unlock();
    }
  }
  return reinterpret_cast<void*>(turns);
}

void test_mutex() {
  stress_end = check_now_ns() + 200000000 * check_effort;
  pthread_t threads[8];
  for (auto& thread : threads) { thread = start(lock_often, nullptr); }
  uint64_t turns = 0;
  for (const auto thread : threads) { turns += reinterpret_cast<uintptr_t>(join(thread)); }
  CHECK_EQ(guarded, turns);
}

// Stress 3: wakes race with timeouts. A waiter that was told of a wake (result 0) and the waker's count must agree.

Word racing;
Word told;

void* time_out_often(void*) {
  while (check_now_ns() < stress_end) {
    constexpr timespec soon = {0, 50000};
    const long result = futex(&racing, wait_private, 0, &soon);
    if (result == 0) {
      __atomic_fetch_add(&told, 1, __ATOMIC_SEQ_CST);
    } else {
      CHECK_EQ(errno, ETIMEDOUT);
    }
  }
  return nullptr;
}

void test_wake_or_timeout() {
  stress_end = check_now_ns() + 150000000 * check_effort;
  pthread_t threads[4];
  for (auto& thread : threads) { thread = start(time_out_often, nullptr); }
  Word woken = 0;
  while (check_now_ns() < stress_end) { woken += static_cast<Word>(futex(&racing, wake_private, 1)); }
  for (const auto thread : threads) { join(thread); }
  CHECK_EQ(told, woken);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("futexstress", argc, argv);
  test_ring();
  test_mutex();
  test_wake_or_timeout();
  return check_done();
}
