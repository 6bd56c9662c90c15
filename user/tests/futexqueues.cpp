// Who is woken by a futex call: counts, first come first served, bitsets, and requeueing to another word.

#include "tests/futex_call.h"

#include <limits.h>
#include <pthread.h>

namespace {

using namespace futex_call;

// Threads that wait once each on a word of their choice; `returned` counts those that came back.

struct Sleeper {
  pthread_t thread;
  Word* word;
  Word bits;
  int operation;
};

Word returned;

void* sleep_once(void* argument) {
  const auto& self = *static_cast<Sleeper*>(argument);
  const bool absolute = (self.operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
  timespec limit = long_time;
  if (absolute) {
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += long_time.tv_sec;
  }
  const long result = futex(self.word, self.operation, 0, &limit, nullptr, self.bits);
  CHECK_EQ(result, 0);
  __atomic_fetch_add(&returned, 1, __ATOMIC_SEQ_CST);
  return nullptr;
}

// Waits until n sleepers have come back.
void await_returned(Word n) {
  for (int tries = 0; load(&returned) < n; ++tries) {
    CHECK(tries < 40000);
    check_sleep_us(500);
  }
}

// Puts `count` sleepers to sleep on word, and makes sure that they are there: requeueing onto itself counts them.
void put_to_sleep(Sleeper* sleepers, int count, Word* word, int operation = wait_private, Word bits = ~0u) {
  static Word nowhere;
  const int scope = operation & FUTEX_PRIVATE_FLAG;
  for (int index = 0; index < count; ++index) {
    sleepers[index] = {{}, word, bits, operation};
    sleepers[index].thread = start(sleep_once, &sleepers[index]);
  }
  for (int tries = 0;; ++tries) {
    CHECK(tries < 40000);
    const long there = futex(word, FUTEX_CMP_REQUEUE | scope, 0, as_timeout(INT_MAX), &nowhere, 0);
    const long back = futex(&nowhere, FUTEX_CMP_REQUEUE | scope, 0, as_timeout(INT_MAX), word, 0);
    CHECK_EQ(there, back);
    if (there == count) { return; }
    check_sleep_us(500);
  }
}

void join_all(Sleeper* sleepers, int count) {
  for (int index = 0; index < count; ++index) { join(sleepers[index].thread); }
}

void test_wake_counts() {
  static Word word;
  Sleeper sleepers[8];
  store(&returned, 0);
  put_to_sleep(sleepers, 8, &word);
  CHECK_EQ(futex(&word, wake_private, 1), 1);
  await_returned(1);
  CHECK_EQ(futex(&word, wake_private, 3), 3);
  await_returned(4);
  CHECK_EQ(futex(&word + 0, wake_private, INT_MAX), 4);
  CHECK_EQ(futex(&word, wake_private, INT_MAX), 0);
  join_all(sleepers, 8);
  CHECK_EQ(returned, 8);

  // Shared operations on private memory find one another, too.
  store(&returned, 0);
  put_to_sleep(sleepers, 2, &word, FUTEX_WAIT);
  CHECK_EQ(futex(&word, FUTEX_WAKE, INT_MAX), 2);
  join_all(sleepers, 2);
}

// First come, first served.
void test_order() {
  static Word word;
  static Word queue;
  static Word order;
  struct Ordered {
    pthread_t thread;
    Word place;
  };
  static Ordered all[4];
  order = 0;
  for (int index = 0; index < 4; ++index) {
    all[index].thread = start(
        [](void* argument) -> void* {
          CHECK_EQ(futex(&word, wait_private, 0, &long_time), 0);
          static_cast<Ordered*>(argument)->place = __atomic_fetch_add(&order, 1, __ATOMIC_SEQ_CST);
          return nullptr;
        },
        &all[index]);
    // Once it sleeps, it is moved to the end of the queue in question.
    for (int tries = 0; futex(&word, cmp_requeue_private, 0, as_timeout(1), &queue, 0) != 1; ++tries) {
      CHECK(tries < 40000);
      check_sleep_us(200);
    }
  }
  for (Word index = 0; index < 4; ++index) {
    CHECK_EQ(futex(&queue, wake_private, 1), 1);
    for (int tries = 0; load(&order) != index + 1; ++tries) {
      CHECK(tries < 40000);
      check_sleep_us(200);
    }
  }
  for (Word index = 0; index < 4; ++index) {
    join(all[index].thread);
    CHECK_EQ(all[index].place, index);
  }
}

void test_bitset() {
  static Word word;
  Sleeper first[3];
  Sleeper second[2];
  store(&returned, 0);
  put_to_sleep(first, 3, &word, wait_bitset_private, 1);
  for (auto& sleeper : second) {
    sleeper = {{}, &word, 2, wait_bitset_private};
    sleeper.thread = start(sleep_once, &sleeper);
  }
  check_sleep_us(2000);
  CHECK_EQ(futex(&word, wake_bitset_private, INT_MAX, nullptr, nullptr, 4), 0);
  CHECK_EQ(futex(&word, wake_bitset_private, INT_MAX, nullptr, nullptr, 5), 3);
  join_all(first, 3);
  Word woken = 0;
  for (int tries = 0; woken < 2; ++tries) {
    CHECK(tries < 40000);
    woken += static_cast<Word>(futex(&word, wake_bitset_private, 1, nullptr, nullptr, 2));
    check_sleep_us(200);
  }
  CHECK_EQ(woken, 2);
  join_all(second, 2);
  CHECK_EQ(returned, 5);
}

void test_requeue() {
  static Word from;
  static Word to;
  Sleeper sleepers[6];
  store(&returned, 0);
  put_to_sleep(sleepers, 6, &from);
  CHECK_ERRNO(futex(&from, cmp_requeue_private, 1, as_timeout(INT_MAX), &to, 9), EAGAIN);
  // Wakes one and moves three: both are counted.
  CHECK_EQ(futex(&from, cmp_requeue_private, 1, as_timeout(3), &to, 0), 4);
  await_returned(1);
  CHECK_EQ(futex(&to, wake_private, 1), 1);
  await_returned(2);
  CHECK_EQ(futex(&from, requeue_private, 0, as_timeout(INT_MAX), &to), 2);
  CHECK_EQ(futex(&from, wake_private, INT_MAX), 0);
  check_sleep_us(1000);
  CHECK_EQ(load(&returned), 2);
  CHECK_EQ(futex(&to, wake_private, INT_MAX), 4);
  join_all(sleepers, 6);
  CHECK_EQ(returned, 6);

  // A requeued waiter still times out.
  static Word third;
  const pthread_t thread = start(
      [](void*) -> void* {
        constexpr timespec limit = {0, 50000000};
        CHECK_ERRNO(futex(&third, wait_private, 0, &limit), ETIMEDOUT);
        return nullptr;
      },
      nullptr);
  for (int tries = 0; tries < 20; ++tries) {
    if (futex(&third, cmp_requeue_private, 0, as_timeout(1), &to, 0) == 1) { break; }
    check_sleep_us(500);
  }
  join(thread);
  CHECK_EQ(futex(&to, wake_private, INT_MAX), 0);
}

// ---- real-time priorities: the highest first, also of those that were moved -----------------------------------------

Word gate, woken_one, order_count, order[4];

void* wait_with_priority(void* argument) {
  const auto priority = static_cast<int>(reinterpret_cast<uintptr_t>(argument));
  CHECK_EQ(syscall(SYS_sched_setscheduler, 0, priority != 0 ? 1 : 0, &priority), 0);  // SCHED_FIFO, SCHED_OTHER
  CHECK_EQ(futex(&gate, wait_private, 0, &long_time), 0);
  order[__atomic_fetch_add(&order_count, 1, __ATOMIC_SEQ_CST)] = static_cast<Word>(priority);
  return nullptr;
}

void test_priority_order() {
  const int lowest = 1;
  const int none = 0;
  if (syscall(SYS_sched_setscheduler, 0, 1, &lowest) != 0) { return; }  // it may not
  CHECK_EQ(syscall(SYS_sched_setscheduler, 0, 0, &none), 0);
  pthread_t threads[4];
  const uintptr_t priorities[4] = {0, 1, 30, 20};
  for (int i = 0; i < 4; ++i) {  // each waits, on the second word, before the next begins
    threads[i] = start(wait_with_priority, reinterpret_cast<void*>(priorities[i]));
    while (futex(&gate, requeue_private, 0, as_timeout(1), &woken_one) != 1) { check_sleep_us(1000); }
  }
  for (Word woken = 0; woken < 4; ++woken) {
    CHECK_EQ(futex(&woken_one, wake_private, 1), 1);
    while (load(&order_count) != woken + 1) { check_sleep_us(1000); }
  }
  for (const pthread_t thread : threads) { join(thread); }
  const Word expected[4] = {30, 20, 1, 0};
  for (int i = 0; i < 4; ++i) { CHECK_EQ(order[i], expected[i]); }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("futexqueues", argc, argv);
  test_wake_counts();
  test_order();
  test_bitset();
  test_requeue();
  test_priority_order();
  return check_done();
}
