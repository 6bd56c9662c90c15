// futex_waitv: a thread that waits on several words: which one it was woken on, errors in Linux's order, clocks, signals, words that are
// moved, words of other processes, and that no wake-up is lost however the wakers come. Gives the same result on Linux.

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/children.h"
#include "tests/futex_call.h"

namespace {

using namespace futex_call;

constexpr unsigned FUTEX_32 = 2, own = FUTEX_32 | FUTEX_PRIVATE_FLAG, most = 128;
constexpr long SYS_waitv = 449;

struct WaitWord {
  uint64_t expected, address;
  uint32_t flags, reserved;
};

WaitWord on(const Word* word, Word expected, unsigned flags = own) {
  return {expected, reinterpret_cast<uintptr_t>(word), flags, 0};
}

long wait_on(const WaitWord* words, unsigned long count, const timespec* until = nullptr, int clock = CLOCK_MONOTONIC,
             unsigned flags = 0) {
  return syscall(SYS_waitv, words, count, flags, until, clock);
}

timespec in_ms(long ms, clockid_t clock = CLOCK_MONOTONIC) {
  timespec now;
  CHECK_EQ(clock_gettime(clock, &now), 0);
  const long ns = now.tv_nsec + ms % 1000 * 1'000'000;
  return {now.tv_sec + ms / 1000 + ns / 1'000'000'000, ns % 1'000'000'000};
}

timespec much_later() {
  return in_ms(long_time.tv_sec * 1000);
}

void test_errors() {
  Word words[3] = {1, 2, 3};
  WaitWord three[] = {on(&words[0], 1), on(&words[1], 2), on(&words[2], 4)};
  CHECK_ERRNO(wait_on(three, 3, nullptr, CLOCK_MONOTONIC, 1), EINVAL);
  CHECK_ERRNO(wait_on(three, 0), EINVAL);
  CHECK_ERRNO(wait_on(three, most + 1), EINVAL);
  CHECK_ERRNO(wait_on(nullptr, 1), EINVAL);
  CHECK_ERRNO(wait_on(reinterpret_cast<WaitWord*>(8), 1), EFAULT);
  const timespec soon = in_ms(10), wrong = {0, 1'000'000'000};
  CHECK_ERRNO(wait_on(three, 3, &soon, CLOCK_BOOTTIME), EINVAL);
  CHECK_ERRNO(wait_on(three, 3, nullptr, CLOCK_BOOTTIME), EAGAIN);
  CHECK_ERRNO(wait_on(three, 3, &wrong), EINVAL);
  CHECK_ERRNO(wait_on(three, 3, as_timeout(8)), EFAULT);
  CHECK_ERRNO(wait_on(three, 3), EAGAIN);  // the last one differs
  CHECK_EQ(futex(&words[0], wake_private, 10), 0);
  for (const unsigned flags : (const unsigned[]){0u, 1u, 128u, 256u | FUTEX_32, 4u | FUTEX_32}) {
    const WaitWord one = on(&words[0], 1, flags);
    CHECK_ERRNO(wait_on(&one, 1), EINVAL);
  }
  WaitWord one = on(&words[0], 1);
  one.reserved = 1;
  CHECK_ERRNO(wait_on(&one, 1), EINVAL);
  // What is wrong with any word comes before what differs in another.
  WaitWord bad[] = {on(&words[0], 7), on(&words[1], 2)};
  bad[1].address += 1;
  CHECK_ERRNO(wait_on(bad, 2), EINVAL);
  bad[1].address = 0xffff'8000'0000'0000;
  CHECK_ERRNO(wait_on(bad, 2), EFAULT);
  bad[1].address = 0x1000;
  bad[1].flags = FUTEX_32;
  CHECK_ERRNO(wait_on(bad, 2), EFAULT);
  bad[1].flags = own;
  CHECK_ERRNO(wait_on(bad, 2), EAGAIN);  // where a word of its own is not looked at before its turn
  bad[0].expected = 1;
  CHECK_ERRNO(wait_on(bad, 2), EFAULT);
  CHECK_EQ(futex(&words[0], wake_private, 10), 0);
}

void test_times() {
  Word words[2] = {1, 2};
  const WaitWord both[] = {on(&words[0], 1), on(&words[1], 2)};
  timespec until = in_ms(20);
  CHECK_ERRNO(wait_on(both, 2, &until), ETIMEDOUT);
  const timespec after = in_ms(0);
  CHECK(after.tv_sec > until.tv_sec || (after.tv_sec == until.tv_sec && after.tv_nsec >= until.tv_nsec));
  until = in_ms(20, CLOCK_REALTIME);
  CHECK_ERRNO(wait_on(both, 2, &until, CLOCK_REALTIME), ETIMEDOUT);
  until = {0, 0};
  CHECK_ERRNO(wait_on(both, 2, &until), ETIMEDOUT);
  for (const Word& word : words) CHECK_EQ(futex(const_cast<Word*>(&word), wake_private, 10), 0);
}

// A thread that waits on many words at once, as long as they are 0.
struct Waiter {
  Word words[most];
  unsigned count, flags;
  long result;
  int error;
};

void* wait_once(void* argument) {
  auto& self = *static_cast<Waiter*>(argument);
  static thread_local WaitWord list[most];
  for (unsigned i = 0; i < self.count; ++i) list[i] = on(&self.words[i], 0, self.flags);
  const timespec until = much_later();
  self.result = wait_on(list, self.count, &until);
  self.error = errno;
  return nullptr;
}

// Tries again until it is there.
void wake_one(Word* word, int operation = wake_private) {
  for (int tries = 0; futex(word, operation, 1) == 0; ++tries) {
    CHECK(tries < 40000);
    check_sleep_us(500);
  }
}

void test_which(unsigned flags, int wake, int requeue) {
  static Waiter waiter;
  for (const unsigned count : (const unsigned[]){1u, 2u, 7u, most}) {
    for (const unsigned index : (const unsigned[]){0u, count / 2, count - 1}) {
      waiter = {};
      waiter.count = count;
      waiter.flags = flags;
      const pthread_t thread = start(wait_once, &waiter);
      wake_one(&waiter.words[index], wake);
      join(thread);
      CHECK_EQ(waiter.result, index);
      for (Word& word : waiter.words) CHECK_EQ(futex(&word, wake, 10), 0);  // it is nowhere any more
    }
  }
  // Moved to a word on which it did not wait.
  static Word elsewhere;
  waiter = {};
  waiter.count = 5;
  waiter.flags = flags;
  const pthread_t thread = start(wait_once, &waiter);
  for (int tries = 0; futex(&waiter.words[3], requeue, 0, as_timeout(1), &elsewhere) == 0; ++tries) {
    CHECK(tries < 40000);
    check_sleep_us(500);
  }
  CHECK_EQ(futex(&waiter.words[3], wake, 1), 0);
  CHECK_EQ(futex(&elsewhere, wake, 10), 1);
  join(thread);
  CHECK_EQ(waiter.result, 3);
}

// The same word twice is two waiters. Of several on which it was woken the last is told.
void test_twice() {
  static Word word;
  static WaitWord list[] = {on(&word, 0), on(&word, 0), on(&word, 0)};
  const auto body = [](void*) -> void* {
    const timespec until = much_later();
    const long index = wait_on(list, 3, &until);
    return reinterpret_cast<void*>(index);
  };
  for (Word woken = 1; woken <= 3; ++woken) {
    const pthread_t thread = start(body, nullptr);
    check_sleep_us(50'000);
    const long count = futex(&word, wake_private, woken);
    const auto index = reinterpret_cast<intptr_t>(join(thread));
    if (count == static_cast<long>(woken)) CHECK_EQ(index, static_cast<long>(woken) - 1);
  }
}

volatile int handled;

void test_signals() {
  static Waiter waiter;
  struct sigaction action = {};
  action.sa_handler = [](int) { handled = handled + 1; };
  for (const int flags : children::Numbers{0, SA_RESTART}) {
    action.sa_flags = flags;
    CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    waiter = {};
    waiter.count = 40;
    waiter.flags = own;
    handled = 0;
    const pthread_t thread = start(wait_once, &waiter);
    for (int tries = 0; handled == 0; ++tries) {
      CHECK(tries < 4000);
      check_sleep_us(20'000);
      if (tries == 0) CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
    }
    if (flags == SA_RESTART) wake_one(&waiter.words[20]);
    join(thread);
    CHECK_EQ(waiter.result, flags == SA_RESTART ? 20 : -1);
    if (flags != SA_RESTART) CHECK_EQ(waiter.error, EINTR);
    for (Word& word : waiter.words) CHECK_EQ(futex(&word, wake_private, 10), 0);
  }
}

void test_processes() {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  auto* words = static_cast<Word*>(memory);
  const auto wait = [&] {
    const WaitWord list[] = {on(&words[0], 0, FUTEX_32), on(&words[1], 0, own), on(&words[2], 0, FUTEX_32)};
    const timespec until = much_later();
    return static_cast<int>(wait_on(list, 3, &until));
  };
  const pid_t child = children::spawn(wait);
  CHECK_EQ(futex(&words[1], FUTEX_WAKE, 10), 0);
  wake_one(&words[2], FUTEX_WAKE);
  children::expect_exit(child, 2);
  const pid_t killed = children::spawn(wait);
  check_sleep_us(20'000);
  CHECK_EQ(kill(killed, SIGKILL), 0);
  children::expect_signal(killed, SIGKILL);
  for (int i = 0; i < 3; ++i) CHECK_EQ(futex(&words[i], FUTEX_WAKE, 10), 0);
  CHECK_EQ(munmap(memory, 4096), 0);
}

// Each of the wakers sets a word of its own, tells the waiter, and goes on when that has seen it. All of them come at once.
constexpr unsigned wakers = 3;
struct Race {
  Word words[wakers];
  Word taken[wakers];  // how many of each the waiter has seen
  long rounds;
} race;

void* set_and_wake(void* argument) {
  const auto number = reinterpret_cast<uintptr_t>(argument);
  for (long round = 0; round < race.rounds; ++round) {
    store(&race.words[number], 1);
    futex(&race.words[number], wake_private, 1);
    const timespec limit = long_time;
    while (load(&race.taken[number]) == static_cast<Word>(round)) {
      const long result = futex(&race.taken[number], wait_private, static_cast<Word>(round), &limit);
      CHECK(result == 0 || errno == EAGAIN);
    }
  }
  return nullptr;
}

void test_race() {
  race = {};
  race.rounds = 300 * check_effort;
  pthread_t threads[wakers];
  for (uintptr_t i = 0; i < wakers; ++i) threads[i] = start(set_and_wake, reinterpret_cast<void*>(i));
  const WaitWord list[] = {on(&race.words[0], 0), on(&race.words[1], 0), on(&race.words[2], 0)};
  for (long left = race.rounds * wakers; left > 0;) {
    const timespec until = much_later();
    const long index = wait_on(list, wakers, &until);
    if (index >= 0) {
      CHECK(index < wakers);
    } else {
      CHECK_EQ(errno, EAGAIN);
    }
    for (unsigned i = 0; i < wakers; ++i) {
      if (load(&race.words[i]) == 0) continue;
      store(&race.words[i], 0);
      __atomic_fetch_add(&race.taken[i], 1, __ATOMIC_SEQ_CST);
      futex(&race.taken[i], wake_private, 1);
      --left;
    }
  }
  for (const pthread_t thread : threads) join(thread);
}

// Time-outs, moves and wakes at once: whoever is told of a wake is the only one.
struct Crowd {
  Word words[4], other;
  Word woken, told;
  volatile bool over;
} crowd;

void* wait_briefly(void*) {
  const WaitWord list[] = {on(&crowd.words[0], 0), on(&crowd.words[1], 0), on(&crowd.words[2], 0), on(&crowd.words[3], 0)};
  while (!crowd.over) {
    timespec until = in_ms(0);
    until.tv_nsec += 200'000;
    if (until.tv_nsec >= 1'000'000'000) until = {until.tv_sec + 1, until.tv_nsec - 1'000'000'000};
    const long index = wait_on(list, 4, &until);
    if (index >= 0) __atomic_fetch_add(&crowd.told, 1, __ATOMIC_SEQ_CST);
    if (index < 0) CHECK_EQ(errno, ETIMEDOUT);
  }
  return nullptr;
}

void test_crowd() {
  crowd = {};
  pthread_t threads[3];
  for (pthread_t& thread : threads) thread = start(wait_briefly, nullptr);
  uint32_t random = 99;
  Word woken = 0;
  for (long i = 0; i < 2000 * check_effort; ++i) {
    random = random * 1664525 + 1013904223;
    Word* word = &crowd.words[random >> 30];
    if ((random >> 29 & 1) != 0) {
      woken += static_cast<Word>(futex(word, wake_private, 1 + (random >> 20 & 3)));
    } else {
      CHECK(futex(word, requeue_private, 0, as_timeout(2), &crowd.other) >= 0);
      woken += static_cast<Word>(futex(&crowd.other, wake_private, 1));
    }
    if (i % 16 == 0) check_sleep_us(100);
  }
  crowd.over = true;
  for (const pthread_t thread : threads) join(thread);
  CHECK(load(&crowd.told) <= woken);  // of two wakes for one wait, one is told
  CHECK(woken == 0 || load(&crowd.told) > 0);
}

// Longer than the kernel's checker waits before it takes a sleeper for a forgotten one.
void test_long_wait() {
  static Waiter waiter = {};
  waiter.count = 2;
  waiter.flags = own;
  pthread_t thread;
  CHECK_EQ(pthread_create(&thread, nullptr, wait_once, &waiter), 0);
  for (const time_t until = time(nullptr) + 5; time(nullptr) < until;) {}
  wake_one(&waiter.words[1]);
  CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(waiter.result, 1);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("futexvector", argc, argv);
  test_errors();
  test_times();
  test_which(own, wake_private, requeue_private);
  test_which(FUTEX_32, FUTEX_WAKE, FUTEX_REQUEUE);
  test_twice();
  test_signals();
  test_processes();
  test_race();
  test_crowd();
  test_long_wait();
  return check_done();
}
