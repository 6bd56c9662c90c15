// The futex call itself, without a library between: results and exact errors of wait, wake, wait/wake with bitsets,
// requeue and cmp_requeue; relative and absolute timeouts; interruption by a signal; private and shared words; and
// stress in which every wake-up is numbered, so that a lost one shows (as a wait that runs into its long timeout).

#include "tests/check.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

// Operations, as in Linux's <linux/futex.h>.
constexpr int FUTEX_WAIT = 0;
constexpr int FUTEX_WAKE = 1;
constexpr int FUTEX_REQUEUE = 3;
constexpr int FUTEX_CMP_REQUEUE = 4;
constexpr int FUTEX_WAIT_BITSET = 9;
constexpr int FUTEX_WAKE_BITSET = 10;
constexpr int FUTEX_PRIVATE_FLAG = 128;
constexpr int FUTEX_CLOCK_REALTIME = 256;
constexpr int FUTEX_CMD_MASK = ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);

using Numbers = const int[];
using Flags = const bool[];

using Word = uint32_t;

long futex(Word* word, int operation, Word value, const timespec* timeout = nullptr, Word* second = nullptr, Word third = 0) {
  return syscall(SYS_futex, word, operation, value, timeout, second, third);
}

// wake-ups that never come end here, in seconds; far beyond what a busy host delays.
constexpr timespec long_time = {20, 0};

constexpr int wait_private = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
constexpr int wake_private = FUTEX_WAKE | FUTEX_PRIVATE_FLAG;
constexpr int requeue_private = FUTEX_REQUEUE | FUTEX_PRIVATE_FLAG;
constexpr int cmp_requeue_private = FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG;
constexpr int wait_bitset_private = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
constexpr int wake_bitset_private = FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG;

const timespec* as_timeout(unsigned long number) {
  return reinterpret_cast<const timespec*>(number);
}

Word load(const Word* word) {
  return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}
void store(Word* word, Word value) {
  __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread{};
  CHECK_EQ(pthread_create(&thread, nullptr, body, argument), 0);
  return thread;
}

void* join(pthread_t thread) {
  void* result = nullptr;
  CHECK_EQ(pthread_join(thread, &result), 0);
  return result;
}

void test_errors() {
  static Word word = 5;
  CHECK_ERRNO(futex(&word, FUTEX_WAIT, 4), EAGAIN);
  CHECK_ERRNO(futex(&word, wait_private, 4), EAGAIN);
  CHECK_ERRNO(futex(&word, wait_bitset_private, 4, nullptr, nullptr, ~0u), EAGAIN);
  CHECK_ERRNO(futex(&word, wait_bitset_private, 5, nullptr, nullptr, 0), EINVAL);
  CHECK_ERRNO(futex(&word, wake_bitset_private, 1, nullptr, nullptr, 0), EINVAL);
  auto* odd = reinterpret_cast<Word*>(reinterpret_cast<char*>(&word) + 1);
  CHECK_ERRNO(futex(odd, wait_private, 5), EINVAL);
  CHECK_ERRNO(futex(odd, wake_private, 1), EINVAL);
  CHECK_ERRNO(futex(nullptr, wait_private, 0), EFAULT);
  CHECK_ERRNO(futex(nullptr, FUTEX_WAIT, 0), EFAULT);
  CHECK_ERRNO(futex(nullptr, FUTEX_WAKE, 1), EFAULT);
  CHECK_ERRNO(futex(reinterpret_cast<Word*>(0xffff800000000000), wait_private, 0), EFAULT);
  CHECK_ERRNO(futex(reinterpret_cast<Word*>(0xffff800000000000), wake_private, 1), EFAULT);
  CHECK_ERRNO(futex(&word, 127, 5), ENOSYS);
  timespec bad = {0, 1000000000};
  CHECK_ERRNO(futex(&word, wait_private, 5, &bad), EINVAL);
  bad = {0, -1};
  CHECK_ERRNO(futex(&word, wait_private, 5, &bad), EINVAL);
  bad = {-1, 0};
  CHECK_ERRNO(futex(&word, wait_private, 5, &bad), EINVAL);
  CHECK_ERRNO(futex(&word, wait_private, 5, as_timeout(16)), EFAULT);

  CHECK_EQ(futex(&word, FUTEX_WAKE, 1), 0);
  CHECK_EQ(futex(&word, wake_private, INT_MAX), 0);
  CHECK_EQ(futex(&word, wake_bitset_private, INT_MAX, nullptr, nullptr, 1), 0);
  static Word other = 0;
  CHECK_EQ(futex(&word, requeue_private, 1, as_timeout(1), &other), 0);
  CHECK_EQ(futex(&word, cmp_requeue_private, 1, as_timeout(1), &other, 5), 0);
  CHECK_ERRNO(futex(&word, cmp_requeue_private, 1, as_timeout(1), &other, 6), EAGAIN);
  CHECK_ERRNO(futex(&word, cmp_requeue_private, static_cast<Word>(-1), as_timeout(1), &other, 5), EINVAL);
  CHECK_ERRNO(futex(&word, cmp_requeue_private, 1, as_timeout(static_cast<unsigned long>(-1)), &other, 5), EINVAL);
}

void test_timeouts() {
  static Word word = 1;
  for (const int milliseconds : Numbers{1, 10}) {
    const timespec relative = {0, milliseconds * 1000000};
    int64_t begin = check_now_ns();
    CHECK_ERRNO(futex(&word, wait_private, 1, &relative), ETIMEDOUT);
    CHECK(check_now_ns() - begin >= milliseconds * 1000000);

    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += milliseconds * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    begin = check_now_ns();
    CHECK_ERRNO(futex(&word, wait_bitset_private, 1, &until, nullptr, ~0u), ETIMEDOUT);
    const int64_t target = until.tv_sec * 1000000000 + until.tv_nsec;
    CHECK(check_now_ns() >= target);
    CHECK(target >= begin);

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += milliseconds * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    CHECK_ERRNO(futex(&word, wait_bitset_private | FUTEX_CLOCK_REALTIME, 1, &until, nullptr, ~0u), ETIMEDOUT);
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    CHECK(now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
  }
  constexpr timespec zero = {0, 0};
  CHECK_ERRNO(futex(&word, wait_private, 1, &zero), ETIMEDOUT);
  constexpr timespec past = {1, 0};
  CHECK_ERRNO(futex(&word, wait_bitset_private, 1, &past, nullptr, ~0u), ETIMEDOUT);
  CHECK_ERRNO(futex(&word, wait_private, 0, &zero), EAGAIN);
}

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

// A handled signal ends a wait with EINTR, with a timeout or without, unless the handler asks for a restart.
void test_interruption() {
  static Word word;
  static volatile sig_atomic_t handled;
  static Word done;
  struct sigaction action{};
  action.sa_handler = [](int) { handled = handled + 1; };
  CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  for (const bool limited : Flags{false, true}) {
    store(&done, 0);
    handled = 0;
    static const timespec* limit;
    limit = limited ? &long_time : nullptr;
    const pthread_t thread = start(
        [](void*) -> void* {
          CHECK_ERRNO(futex(&word, wait_private, 0, limit), EINTR);
          store(&done, 1);
          return nullptr;
        },
        nullptr);
        // A signal that comes before the wait is lost to it: repeat until the wait has ended.
    for (int tries = 0; load(&done) == 0; ++tries) {
      CHECK(tries < 10000);
      check_sleep_us(2000);
      if (load(&done) == 0) { pthread_kill(thread, SIGUSR1); }
    }
    join(thread);
    CHECK(handled > 0);
  }

  action.sa_flags = SA_RESTART;
  CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  handled = 0;
  store(&word, 0);
  const pthread_t thread = start(
      [](void*) -> void* {
        const long result = futex(&word, wait_private, 0, nullptr);
        CHECK(result == 0 || (result == -1 && errno == EAGAIN));
        CHECK_EQ(load(&word), 1);
        return nullptr;
      },
      nullptr);
  check_sleep_us(3000);
  for (int index = 0; index < 5; ++index) {
    CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
    check_sleep_us(1000);
  }
  store(&word, 1);
  futex(&word, wake_private, 1);
  join(thread);
  CHECK(handled > 0);
}

// Shared memory: one word for two processes. Private memory: the same address in two processes is two words.
void test_processes() {
  auto* shared = static_cast<Word*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(shared != MAP_FAILED);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (Word turn = 0; turn < 100; ++turn) {
      while (load(&shared[0]) == turn) {
        if (futex(&shared[0], FUTEX_WAIT, turn, &long_time) != 0 && errno != EAGAIN) { _exit(1); }
      }
      store(&shared[1], turn + 1);
      futex(&shared[1], FUTEX_WAKE, 1);
    }
    _exit(0);
  }
  for (Word turn = 0; turn < 100; ++turn) {
    store(&shared[0], turn + 1);
    futex(&shared[0], FUTEX_WAKE, 1);
    while (load(&shared[1]) == turn) {
      if (futex(&shared[1], FUTEX_WAIT, turn, &long_time) != 0) { CHECK_EQ(errno, EAGAIN); }
    }
    CHECK_EQ(load(&shared[1]), turn + 1);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);

  static Word mine;
  child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    constexpr timespec limit = {0, 30000000};
    store(&shared[2], 1);
    _exit(futex(&mine, FUTEX_WAIT, 0, &limit) == -1 && errno == ETIMEDOUT ? 0 : 1);
  }
  while (load(&shared[2]) == 0) { check_sleep_us(500); }
  for (int turn = 0; turn < 20; ++turn) {
    CHECK_EQ(futex(&mine, FUTEX_WAKE, 1), 0);
    CHECK_EQ(futex(&mine, wake_private, 1), 0);
    check_sleep_us(500);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(munmap(shared, 4096), 0);
}

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
  check_begin("futextest", argc, argv);
  test_errors();
  test_timeouts();
  test_wake_counts();
  test_order();
  test_bitset();
  test_requeue();
  test_interruption();
  test_processes();
  test_ring();
  test_mutex();
  test_wake_or_timeout();
  return check_done();
}
