// Futexes whose owner inherits the priority of who waits: FUTEX_LOCK_PI and its relatives.
// What needs the real-time class is left out where that is not allowed (Linux, not root).

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "children.h"

namespace {

constexpr int wait_plainly = 0, wake_plainly = 1, lock_pi = 6, unlock_pi = 7, trylock_pi = 8, wait_requeue_pi = 11,
              cmp_requeue_pi = 12, lock_pi2 = 13, wall_clock = 256;
constexpr unsigned waiters = 0x80000000, owner_died = 0x40000000, owner_bits = 0x3fffffff;
constexpr int other = 0, fifo = 1;
constexpr int64_t second = 1000000000;

long call(void* word, int operation, unsigned value = 0, const void* time = nullptr, void* more = nullptr, unsigned third = 0) {
  return syscall(SYS_futex, word, operation, value, time, more, third);
}
unsigned own_id() {
  return static_cast<unsigned>(syscall(SYS_gettid));
}
long set_policy(unsigned thread, int policy, int priority) {
  return syscall(SYS_sched_setscheduler, thread, policy, &priority);
}
bool real_time_allowed() {
  if (set_policy(0, fifo, 1) != 0) return false;
  CHECK_EQ(set_policy(0, other, 0), 0);
  return true;
}

// A lock as pthread_mutex_t makes one of it: the kernel is called only when somebody else has it, or waits.
void lock(unsigned* word) {
  unsigned free = 0;
  if (__atomic_compare_exchange_n(word, &free, own_id(), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return;
  CHECK_EQ(call(word, lock_pi), 0);
}
void unlock(unsigned* word) {
  unsigned mine = own_id();
  if (__atomic_compare_exchange_n(word, &mine, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return;
  CHECK_EQ(call(word, unlock_pi), 0);
}
unsigned look(const unsigned* word) {
  return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}
template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) check_sleep_us(1000);
}

// A thread that does what it is given.
struct Worker {
  pthread_t thread{};
  unsigned id = 0;
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
  static void* run(void* self) {
    auto& worker = *static_cast<Worker*>(self);
    __atomic_store_n(&worker.id, own_id(), __ATOMIC_SEQ_CST);
    worker.body(worker.argument);
    return nullptr;
  }
  void start(void (*what)(void*), void* with) {
    body = what;
    argument = with;
    id = 0;
    CHECK_EQ(pthread_create(&thread, nullptr, run, this), 0);
    wait_until([this] { return __atomic_load_n(&id, __ATOMIC_SEQ_CST) != 0; });
  }
  void join() { CHECK_EQ(pthread_join(thread, nullptr), 0); }
};

// The letter of a thread's state in /proc, and its effective priority.
struct State {
  char letter = 0;
  long priority = 0;
};
State state_of(unsigned thread) {
  char path[64];
  char text[1024] = {};
  snprintf(path, sizeof path, "/proc/self/task/%u/stat", thread);
  const int file = open(path, O_RDONLY);
  CHECK(file >= 0);
  CHECK(read(file, text, sizeof text - 1) > 0);
  close(file);
  char* at = strrchr(text, ')') + 2;
  State state{*at++};
  for (int field = 4; field <= 18; ++field) state.priority = strtol(at, &at, 10);
  return state;
}
void wait_until_asleep(unsigned thread) {
  wait_until([=] { return state_of(thread).letter == 'S'; });
}
void wait_for_priority(unsigned thread, long expected) {
  wait_until([=] { return state_of(thread).priority == expected; });
}

// ---- what the calls answer -------------------------------------------------------------------------------------------

unsigned word;

void hold_for_a_while(void*) {
  lock(&word);
  check_sleep_us(150000);
  unlock(&word);
}

void test_answers() {
  word = 0;
  CHECK_EQ(call(&word, trylock_pi), 0);
  CHECK_EQ(look(&word), own_id());
  CHECK_ERRNO(call(&word, trylock_pi), EDEADLK);
  CHECK_ERRNO(call(&word, lock_pi), EDEADLK);
  CHECK_EQ(call(&word, unlock_pi), 0);
  CHECK_EQ(look(&word), 0);
  CHECK_ERRNO(call(&word, unlock_pi), EPERM);
  word = 1;
  CHECK_ERRNO(call(&word, unlock_pi), EPERM);
  word = 0x3ffffff0;  // nobody's number
  CHECK_ERRNO(call(&word, lock_pi), ESRCH);
  CHECK_ERRNO(call(&word, trylock_pi), ESRCH);
  CHECK_ERRNO(call(reinterpret_cast<char*>(&word) + 1, lock_pi), EINVAL);
  CHECK_ERRNO(call(nullptr, lock_pi), EFAULT);
  CHECK_ERRNO(call(nullptr, unlock_pi), EFAULT);
  word = owner_died;  // left by a robust owner: it can be had, and says so
  CHECK_EQ(call(&word, lock_pi), 0);
  CHECK_EQ(look(&word), owner_died | own_id());
  word = 0;
}

void test_time_limits() {
  word = 0;
  Worker holder;
  holder.start(hold_for_a_while, nullptr);
  wait_until([] { return look(&word) != 0; });
  CHECK_ERRNO(call(&word, trylock_pi), EAGAIN);
  timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  CHECK_ERRNO(call(&word, lock_pi, 0, &limit), ETIMEDOUT);
  CHECK_ERRNO(call(&word, lock_pi2 | wall_clock, 0, &limit), ETIMEDOUT);
  CHECK_EQ(look(&word), holder.id | waiters);
  limit.tv_nsec = second;
  CHECK_ERRNO(call(&word, lock_pi, 0, &limit), EINVAL);
  clock_gettime(CLOCK_MONOTONIC, &limit);
  limit.tv_sec += 60;
  CHECK_EQ(call(&word, lock_pi2, 0, &limit), 0);  // the holder gives it up
  CHECK_EQ(look(&word) & owner_bits, own_id());
  unlock(&word);
  CHECK_EQ(look(&word), 0);
  holder.join();
}

// ---- circles and ends ------------------------------------------------------------------------------------------------

unsigned first_lock, second_lock;

void wait_in_a_circle(void*) {
  lock(&second_lock);
  lock(&first_lock);
  unlock(&first_lock);
  unlock(&second_lock);
}

void test_a_circle_is_found() {
  first_lock = second_lock = 0;
  lock(&first_lock);
  Worker worker;
  worker.start(wait_in_a_circle, nullptr);
  wait_until([] { return (look(&first_lock) & waiters) != 0; });
  CHECK_ERRNO(call(&second_lock, lock_pi), EDEADLK);
  unlock(&first_lock);
  worker.join();
  CHECK_EQ(look(&first_lock), 0);
  CHECK_EQ(look(&second_lock), 0);
}

unsigned heirs, may_leave;

void inherit(void*) {
  CHECK_EQ(call(&word, lock_pi), 0);
  CHECK_EQ(look(&word) & owner_bits, own_id());
  if ((look(&word) & owner_died) != 0) __atomic_fetch_add(&heirs, 1, __ATOMIC_SEQ_CST);
  CHECK_EQ(call(&word, unlock_pi), 0);
}
void leave_locked(void*) {
  lock(&word);
  wait_until([] { return look(&may_leave) != 0; });
}

// An owner that ends without unlocking: the next one gets the lock, with a mark; those behind it as always.
void test_the_owner_ends() {
  word = 0;
  heirs = may_leave = 0;
  Worker owner;
  Worker worker[3];
  owner.start(leave_locked, nullptr);
  wait_until([] { return look(&word) != 0; });
  for (Worker& one : worker) one.start(inherit, nullptr);
  for (Worker& one : worker) wait_until_asleep(one.id);
  __atomic_store_n(&may_leave, 1, __ATOMIC_SEQ_CST);
  owner.join();
  for (Worker& one : worker) one.join();
  CHECK_EQ(heirs, 1);
  CHECK_EQ(look(&word) & owner_bits, 0);
}

void test_between_processes() {
  auto* shared = static_cast<unsigned*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(shared != MAP_FAILED);
  lock(shared);
  const pid_t child = children::spawn([=] {
    for (int i = 0; i < 100; ++i) {
      lock(shared);
      shared[1] = shared[1] + 1;
      unlock(shared);
    }
    return 0;
  });
  wait_until([=] { return (look(shared) & waiters) != 0; });
  unlock(shared);
  for (int i = 0; i < 100; ++i) {
    lock(shared);
    shared[1] = shared[1] + 1;
    unlock(shared);
  }
  children::expect_exit(child, 0);
  CHECK_EQ(shared[1], 200);
  const pid_t killed = children::spawn([=] {
    lock(shared);
    pause();
    return 0;
  });
  wait_until([=] { return look(shared) == static_cast<unsigned>(killed); });
  const pid_t heir = children::spawn([=] {
    CHECK_EQ(call(shared, lock_pi), 0);
    return (look(shared) & (owner_died | owner_bits)) == (owner_died | own_id()) ? 0 : 1;
  });
  wait_until([=] { return (look(shared) & waiters) != 0; });
  check_sleep_us(10000);
  kill(killed, SIGKILL);
  children::expect_signal(killed, SIGKILL);
  children::expect_exit(heir, 0);
  munmap(shared, 4096);
}

// ---- requeue ---------------------------------------------------------------------------------------------------------

unsigned condition, mutex, through;

void wait_for_condition(void*) {
  CHECK_EQ(call(&condition, wait_requeue_pi, 7, nullptr, &mutex), 0);
  CHECK_EQ(look(&mutex) & owner_bits, own_id());
  __atomic_fetch_add(&through, 1, __ATOMIC_SEQ_CST);
  unlock(&mutex);
}

void test_requeue() {
  condition = 7;
  mutex = through = 0;
  const auto all = reinterpret_cast<void*>(uintptr_t{INT_MAX});
  CHECK_ERRNO(call(&condition, wait_requeue_pi, 8, nullptr, &mutex), EAGAIN);
  CHECK_ERRNO(call(&condition, wait_requeue_pi, 7, nullptr, &condition), EINVAL);
  CHECK_ERRNO(call(&condition, cmp_requeue_pi, 2, all, &mutex, 7), EINVAL);
  CHECK_ERRNO(call(&condition, cmp_requeue_pi, 1, all, &mutex, 8), EAGAIN);
  CHECK_EQ(call(&condition, cmp_requeue_pi, 1, all, &mutex, 7), 0);
  timespec past{};
  CHECK_ERRNO(call(&condition, wait_requeue_pi, 7, &past, &mutex), ETIMEDOUT);

  Worker worker[4];
  for (Worker& one : worker) one.start(wait_for_condition, nullptr);
  for (Worker& one : worker) wait_until_asleep(one.id);
  lock(&mutex);
  CHECK_EQ(call(&condition, cmp_requeue_pi, 1, reinterpret_cast<void*>(1), &mutex, 7), 2);
  check_sleep_us(20000);
  CHECK_EQ(through, 0);  // the lock is held
  unlock(&mutex);
  wait_until([] { return __atomic_load_n(&through, __ATOMIC_SEQ_CST) == 2; });
  CHECK_EQ(call(&condition, cmp_requeue_pi, 1, all, &mutex, 7), 2);  // the lock is free: the first one has it
  for (Worker& one : worker) one.join();
  CHECK_EQ(through, 4);
  CHECK_EQ(look(&mutex), 0);
}

// ---- priorities ------------------------------------------------------------------------------------------------------

char order[8];
unsigned written;

struct Prioritised {
  int priority;
  char letter;
};
void wait_with_priority(void* argument) {
  const auto& self = *static_cast<Prioritised*>(argument);
  CHECK_EQ(set_policy(0, fifo, self.priority), 0);
  lock(&word);
  order[written++] = self.letter;
  unlock(&word);
}

void test_order_of_waiters() {
  word = written = 0;
  memset(order, 0, sizeof order);
  lock(&word);
  Prioritised wishes[] = {{10, 'a'}, {30, 'b'}, {20, 'c'}, {30, 'd'}};
  Worker worker[4];
  for (int i = 0; i < 4; ++i) {
    worker[i].start(wait_with_priority, &wishes[i]);
    wait_for_priority(worker[i].id, -1 - wishes[i].priority);
    wait_until_asleep(worker[i].id);
  }
  wait_for_priority(own_id(), -31);  // the highest of them
  CHECK_EQ(set_policy(worker[0].id, fifo, 40), 0);  // while it waits
  wait_for_priority(own_id(), -41);
  CHECK_EQ(set_policy(worker[0].id, fifo, 5), 0);
  wait_for_priority(own_id(), -31);
  unlock(&word);
  for (Worker& one : worker) one.join();
  CHECK(strcmp(order, "bdca") == 0);
  wait_for_priority(own_id(), 20);
}

// The first owner waits for the second: what is donated to the first goes on to the second.
unsigned middle_lock;
void have_one_wait_for_another(void*) {
  lock(&middle_lock);
  lock(&word);
  unlock(&word);
  unlock(&middle_lock);
}
void wait_at_the_end(void*) {
  CHECK_EQ(set_policy(0, fifo, 33), 0);
  lock(&middle_lock);
  unlock(&middle_lock);
}
void test_chain() {
  word = middle_lock = 0;
  lock(&word);
  Worker middle;
  Worker last;
  middle.start(have_one_wait_for_another, nullptr);
  wait_until_asleep(middle.id);
  last.start(wait_at_the_end, nullptr);
  wait_for_priority(middle.id, -34);
  wait_for_priority(own_id(), -34);
  unlock(&word);
  wait_for_priority(own_id(), 20);
  middle.join();
  last.join();
}

// One core; a low one has the lock, a high one wants it, and one between them computes for long. With inheritance the high one
// gets the lock first; without it, the one between ends first.
struct Inversion {
  bool inherits;
  unsigned lock = 0;
  unsigned low_has_it = 0, high_asks = 0, middle_ended = 0;
  bool middle_was_first = false;
};
void lock_either(Inversion& with) {
  if (with.inherits) return lock(&with.lock);
  while (__atomic_exchange_n(&with.lock, 1, __ATOMIC_SEQ_CST) != 0) call(&with.lock, wait_plainly, 1);
}
void unlock_either(Inversion& with) {
  if (with.inherits) return unlock(&with.lock);
  __atomic_store_n(&with.lock, 0, __ATOMIC_SEQ_CST);
  call(&with.lock, wake_plainly, 1);
}
void compute_for(int64_t ns) {  // of its own time
  timespec time;
  const auto used = [&] {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * second + time.tv_nsec;
  };
  for (const int64_t end = used() + ns; used() < end;) check_spin(1000);
}
void be_low(void* argument) {
  auto& with = *static_cast<Inversion*>(argument);
  CHECK_EQ(set_policy(0, fifo, 10), 0);
  lock_either(with);
  __atomic_store_n(&with.low_has_it, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&with.high_asks, __ATOMIC_SEQ_CST) == 0) check_spin(1000);  // sleeping, it might come back late
  compute_for(20000000);
  unlock_either(with);
}
void be_middle(void* argument) {
  auto& with = *static_cast<Inversion*>(argument);
  CHECK_EQ(set_policy(0, fifo, 30), 0);
  compute_for(300000000);
  __atomic_store_n(&with.middle_ended, 1, __ATOMIC_SEQ_CST);
}
void be_high(void* argument) {
  auto& with = *static_cast<Inversion*>(argument);
  CHECK_EQ(set_policy(0, fifo, 50), 0);
  __atomic_store_n(&with.high_asks, 1, __ATOMIC_SEQ_CST);
  lock_either(with);
  with.middle_was_first = __atomic_load_n(&with.middle_ended, __ATOMIC_SEQ_CST) != 0;
  unlock_either(with);
}
bool middle_is_first(bool inherits) {
  Inversion with{inherits};
  Worker low;
  Worker middle;
  Worker high;
  // The test stands above all three, and its children begin at its priority.
  CHECK_EQ(set_policy(0, fifo, 60), 0);
  low.start(be_low, &with);
  wait_until([&] { return __atomic_load_n(&with.low_has_it, __ATOMIC_SEQ_CST) != 0; });
  middle.start(be_middle, &with);
  high.start(be_high, &with);
  high.join();
  middle.join();
  low.join();
  CHECK_EQ(set_policy(0, other, 0), 0);
  return with.middle_was_first;
}
void test_inversion() {
  cpu_set_t all;
  cpu_set_t one;
  CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (unsigned core = 0; CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  }
  CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  CHECK(!middle_is_first(true));
  CHECK(middle_is_first(false));
  CHECK_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

// ---- many ------------------------------------------------------------------------------------------------------------

unsigned many_locks[3];
long counters[3];
long rounds;
bool with_priorities;

void lock_and_count(void* argument) {
  uint64_t random = reinterpret_cast<uintptr_t>(argument) * 2654435761u + 1;
  for (long i = 0; i < rounds; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const auto first = static_cast<unsigned>(random >> 40) % 3;
    const auto next = first + static_cast<unsigned>(random >> 50) % (3 - first);
    if (with_priorities && i % 16 == 0) {
      const int priority = static_cast<int>(random >> 34 & 31);
      CHECK_EQ(set_policy(0, priority == 0 ? other : fifo, priority), 0);
    }
    lock(&many_locks[first]);
    if (next != first) lock(&many_locks[next]);
    if (random >> 60 == 0) sched_yield();
    ++counters[first];
    if (next != first) ++counters[next];
    if (next != first) unlock(&many_locks[next]);
    unlock(&many_locks[first]);
    __atomic_fetch_add(&through, next != first ? 2 : 1, __ATOMIC_RELAXED);
  }
}

void test_many(bool priorities) {
  constexpr int threads = 8;
  memset(many_locks, 0, sizeof many_locks);
  memset(counters, 0, sizeof counters);
  through = 0;
  rounds = 300 * check_effort;
  with_priorities = priorities;
  Worker worker[threads];
  for (int i = 0; i < threads; ++i) worker[i].start(lock_and_count, reinterpret_cast<void*>(uintptr_t(i + 1)));
  for (Worker& one : worker) one.join();
  CHECK_EQ(counters[0] + counters[1] + counters[2], static_cast<long>(through));
  for (const unsigned each : many_locks) CHECK_EQ(each, 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("pitest", argc, argv);
  test_answers();
  test_time_limits();
  test_a_circle_is_found();
  test_the_owner_ends();
  test_between_processes();
  test_requeue();
  test_many(false);
  if (real_time_allowed()) {
    test_order_of_waiters();
    test_chain();
    test_inversion();
    test_many(true);
  }
  return check_done();
}
