// POSIX threads of a static musl program: creation and joining (64 at once), mutexes, condition variables, barriers,
// read-write locks, semaphores, once, thread-local storage and keys, cancellation (deferred, asynchronous, at a
// blocking call), detached threads and timeouts. musl reaches the kernel by clone, futex, tkill and set_tid_address.

#define _GNU_SOURCE
#include "tests/check.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>

enum { crowd = 64 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static long counter;
static int phase;

static void start(pthread_t* thread, void* (*body)(void*), void* argument) {
  CHECK_EQ(pthread_create(thread, NULL, body, argument), 0);
}

static void* join(pthread_t thread) {
  void* result = NULL;
  CHECK_EQ(pthread_join(thread, &result), 0);
  return result;
}

// Creation, arguments, results, and a mutex over a plain counter.

static void* count_under_mutex(void* argument) {
  for (long step = 0; step < 500 * check_effort; ++step) {
    pthread_mutex_lock(&mutex);
    ++counter;
    pthread_mutex_unlock(&mutex);
  }
  return (char*)argument + 1;
}

static void test_join_and_mutex(void) {
  pthread_t threads[crowd];
  counter = 0;
  for (long index = 0; index < crowd; ++index) { start(&threads[index], count_under_mutex, (void*)(index * 10)); }
  for (long index = 0; index < crowd; ++index) { CHECK_EQ((long)join(threads[index]), index * 10 + 1); }
  CHECK_EQ(counter, crowd * 500 * check_effort);
  CHECK_EQ(pthread_mutex_trylock(&mutex), 0);
  CHECK_EQ(pthread_mutex_trylock(&mutex), EBUSY);
  CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
}

static void* nothing(void* argument) {
  return argument;
}

static void test_many_creations(void) {
  for (long round = 0; round < 200 * check_effort; ++round) {
    pthread_t thread;
    start(&thread, nothing, (void*)round);
    CHECK_EQ((long)join(thread), round);
  }
}

static void test_mutex_kinds(void) {
  pthread_mutexattr_t attributes;
  pthread_mutex_t kind;
  pthread_mutexattr_init(&attributes);
  CHECK_EQ(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE), 0);
  pthread_mutex_init(&kind, &attributes);
  CHECK_EQ(pthread_mutex_lock(&kind), 0);
  CHECK_EQ(pthread_mutex_lock(&kind), 0);
  CHECK_EQ(pthread_mutex_unlock(&kind), 0);
  CHECK_EQ(pthread_mutex_unlock(&kind), 0);
  CHECK_EQ(pthread_mutex_unlock(&kind), EPERM);
  CHECK_EQ(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK), 0);
  pthread_mutex_init(&kind, &attributes);
  CHECK_EQ(pthread_mutex_lock(&kind), 0);
  CHECK_EQ(pthread_mutex_lock(&kind), EDEADLK);
  CHECK_EQ(pthread_mutex_unlock(&kind), 0);
}

// Condition variables: a ring in which each thread waits for its turn, and a broadcast.

static void* take_turns(void* argument) {
  const long self = (long)argument;
  for (int round = 0; round < 50 * check_effort; ++round) {
    pthread_mutex_lock(&mutex);
    while (phase % 4 != self) { pthread_cond_wait(&condition, &mutex); }
    ++phase;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

static void test_condition(void) {
  pthread_t threads[4];
  phase = 0;
  for (long index = 0; index < 4; ++index) { start(&threads[index], take_turns, (void*)index); }
  for (int index = 0; index < 4; ++index) { join(threads[index]); }
  CHECK_EQ(phase, 4 * 50 * check_effort);
}

static int waiting;
static int released;

static void* wait_for_broadcast(void* argument) {
  pthread_mutex_lock(&mutex);
  ++waiting;
  while (released == 0) { pthread_cond_wait(&condition, &mutex); }
  ++released;
  pthread_mutex_unlock(&mutex);
  return argument;
}

static void test_broadcast(void) {
  pthread_t threads[crowd];
  waiting = released = 0;
  for (int index = 0; index < crowd; ++index) { start(&threads[index], wait_for_broadcast, NULL); }
  for (bool all = false; !all;) {
    check_sleep_us(500);
    pthread_mutex_lock(&mutex);
    all = waiting == crowd;
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_lock(&mutex);
  released = 1;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  for (int index = 0; index < crowd; ++index) { join(threads[index]); }
  CHECK_EQ(released, crowd + 1);
}

static struct timespec from_now(clockid_t clock, long milliseconds) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += milliseconds * 1000000;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

static void test_timeouts(void) {
  int64_t begin = check_now_ns();
  struct timespec until = from_now(CLOCK_REALTIME, 20);
  pthread_mutex_lock(&mutex);
  CHECK_EQ(pthread_cond_timedwait(&condition, &mutex, &until), ETIMEDOUT);
  CHECK(check_now_ns() - begin >= 19000000);
  pthread_mutex_unlock(&mutex);

  pthread_condattr_t attributes;
  pthread_cond_t monotonic;
  pthread_condattr_init(&attributes);
  CHECK_EQ(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC), 0);
  pthread_cond_init(&monotonic, &attributes);
  begin = check_now_ns();
  until = from_now(CLOCK_MONOTONIC, 20);
  pthread_mutex_lock(&mutex);
  CHECK_EQ(pthread_cond_timedwait(&monotonic, &mutex, &until), ETIMEDOUT);
  CHECK(check_now_ns() - begin >= 20000000);
  pthread_mutex_unlock(&mutex);

  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  until = from_now(CLOCK_REALTIME, 20);
  begin = check_now_ns();
  CHECK_ERRNO(sem_timedwait(&semaphore, &until), ETIMEDOUT);
  CHECK(check_now_ns() - begin >= 19000000);
  CHECK_ERRNO(sem_trywait(&semaphore), EAGAIN);
}

// A barrier, in generations: nobody may be two generations ahead.

static pthread_barrier_t barrier;
static int arrived;

static void* meet_often(void* argument) {
  int serial = 0;
  for (int round = 1; round <= 20 * check_effort; ++round) {
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    const int first = pthread_barrier_wait(&barrier);
    CHECK(first == 0 || first == PTHREAD_BARRIER_SERIAL_THREAD);
    serial += first == PTHREAD_BARRIER_SERIAL_THREAD;
    CHECK_EQ(__atomic_load_n(&arrived, __ATOMIC_SEQ_CST), 8 * round);
    pthread_barrier_wait(&barrier);
  }
  (void)argument;
  return (void*)(long)serial;
}

static void test_barrier(void) {
  pthread_t threads[8];
  arrived = 0;
  CHECK_EQ(pthread_barrier_init(&barrier, NULL, 8), 0);
  for (int index = 0; index < 8; ++index) { start(&threads[index], meet_often, NULL); }
  long serial = 0;
  for (int index = 0; index < 8; ++index) { serial += (long)join(threads[index]); }
  CHECK_EQ(serial, 20 * check_effort);
  CHECK_EQ(pthread_barrier_destroy(&barrier), 0);
}

// Read-write lock: writers keep two halves equal, readers check.

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long halves[2];

static void* read_or_write(void* argument) {
  const bool writer = (long)argument % 4 == 0;
  for (long step = 0; step < 500 * check_effort; ++step) {
    if (writer) {
      pthread_rwlock_wrlock(&rwlock);
      ++halves[0];
      ++halves[1];
    } else {
      pthread_rwlock_rdlock(&rwlock);
      CHECK_EQ(halves[0], halves[1]);
    }
    pthread_rwlock_unlock(&rwlock);
  }
  return NULL;
}

static void test_rwlock(void) {
  pthread_t threads[8];
  for (long index = 0; index < 8; ++index) { start(&threads[index], read_or_write, (void*)index); }
  for (int index = 0; index < 8; ++index) { join(threads[index]); }
  CHECK_EQ(halves[0], 2 * 500 * check_effort);
}

// Semaphores: a bounded buffer with several producers and consumers.

static sem_t slots;
static sem_t items;
static int buffer[4];
static int put_at;
static int take_at;
static long consumed;

static void* produce(void* argument) {
  (void)argument;
  for (int value = 1; value <= 100 * check_effort; ++value) {
    sem_wait(&slots);
    pthread_mutex_lock(&mutex);
    buffer[put_at++ % 4] = value;
    pthread_mutex_unlock(&mutex);
    sem_post(&items);
  }
  return NULL;
}

static void* consume(void* argument) {
  (void)argument;
  for (int step = 0; step < 100 * check_effort; ++step) {
    sem_wait(&items);
    pthread_mutex_lock(&mutex);
    consumed += buffer[take_at++ % 4];
    pthread_mutex_unlock(&mutex);
    sem_post(&slots);
  }
  return NULL;
}

static void test_semaphore(void) {
  pthread_t threads[8];
  CHECK_EQ(sem_init(&slots, 0, 4), 0);
  CHECK_EQ(sem_init(&items, 0, 0), 0);
  for (int index = 0; index < 8; ++index) { start(&threads[index], index % 2 == 0 ? produce : consume, NULL); }
  for (int index = 0; index < 8; ++index) { join(threads[index]); }
  const long each = 100 * check_effort;
  CHECK_EQ(consumed, 4 * each * (each + 1) / 2);
  int value = -1;
  CHECK_EQ(sem_getvalue(&items, &value), 0);
  CHECK_EQ(value, 0);
}

// Thread-local storage, keys with destructors, once.

static __thread long local_zero;
static __thread long local_set = 42;
static __thread char local_aligned[256] __attribute__((aligned(64)));
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_calls;
static int destroyed;

static void call_once(void) {
  ++once_calls;
}

static void destroy(void* value) {
  CHECK(value != NULL);
  __atomic_fetch_add(&destroyed, 1, __ATOMIC_SEQ_CST);
}

static void* use_locals(void* argument) {
  const long self = (long)argument;
  CHECK_EQ(local_zero, 0);
  CHECK_EQ(local_set, 42);
  CHECK_EQ((uintptr_t)local_aligned % 64, 0);
  local_zero = self;
  local_set += self;
  memset(local_aligned, (int)self, sizeof local_aligned);
  CHECK(pthread_getspecific(key) == NULL);
  CHECK_EQ(pthread_setspecific(key, argument), 0);
  pthread_once(&once, call_once);
  for (int turn = 0; turn < 5; ++turn) {
    sched_yield();
    CHECK_EQ(local_zero, self);
    CHECK_EQ(local_set, 42 + self);
    CHECK_EQ(local_aligned[255], (char)self);
    CHECK_EQ((long)pthread_getspecific(key), self);
  }
  return NULL;
}

static void test_thread_local(void) {
  pthread_t threads[crowd];
  CHECK_EQ(pthread_key_create(&key, destroy), 0);
  for (long index = 0; index < crowd; ++index) { start(&threads[index], use_locals, (void*)(index + 1)); }
  for (int index = 0; index < crowd; ++index) { join(threads[index]); }
  CHECK_EQ(destroyed, crowd);
  CHECK_EQ(once_calls, 1);
  CHECK_EQ(local_zero, 0);
  CHECK_EQ(local_set, 42);
  CHECK_EQ(pthread_key_delete(key), 0);
}

// Cancellation.

static int cleaned;
static sem_t ready;
static sem_t asked;  // the cancellation has been asked for

static void clean_up(void* argument) {
  __atomic_fetch_add(&cleaned, (int)(long)argument, __ATOMIC_SEQ_CST);
}

static void unlock_mutex(void* argument) {
  pthread_mutex_unlock(argument);
}

static void* wait_to_be_cancelled(void* argument) {
  pthread_cleanup_push(clean_up, (void*)1);
  pthread_cleanup_push(clean_up, (void*)10);
  sem_post(&ready);
  if (argument != NULL) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock_mutex, &mutex);
    for (;;) { pthread_cond_wait(&condition, &mutex); }
    pthread_cleanup_pop(1);
  } else {
    for (;;) { pause(); }
  }
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  return NULL;
}

static void* compute_until_cancelled(void* argument) {
  int old = -1;
  CHECK_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old), 0);
  CHECK_EQ(old, PTHREAD_CANCEL_DEFERRED);
  sem_post(&ready);
  for (volatile unsigned long turn = 0;; ++turn) {}
  return argument;
}

static void* hold_out(void* argument) {
  CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL), 0);
  sem_post(&ready);
  sem_wait(&asked);
  pthread_testcancel();
  __atomic_store_n((int*)argument, 1, __ATOMIC_SEQ_CST);
  CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL), 0);
  pthread_testcancel();
  __atomic_store_n((int*)argument, 2, __ATOMIC_SEQ_CST);
  return NULL;
}

static void cancel_one(void* (*body)(void*), void* argument) {
  pthread_t thread;
  start(&thread, body, argument);
  sem_wait(&ready);
  CHECK_EQ(pthread_cancel(thread), 0);
  CHECK_EQ(sem_post(&asked), 0);
  CHECK(join(thread) == PTHREAD_CANCELED);
}

static void test_cancel(void) {
  CHECK_EQ(sem_init(&ready, 0, 0), 0);
  for (int round = 1; round <= 10 * check_effort; ++round) {
    cleaned = 0;
    cancel_one(wait_to_be_cancelled, NULL);
    CHECK_EQ(cleaned, 11);
    cancel_one(wait_to_be_cancelled, &mutex);
    CHECK_EQ(cleaned, 22);
    CHECK_EQ(pthread_mutex_trylock(&mutex), 0);
    pthread_mutex_unlock(&mutex);
    cancel_one(compute_until_cancelled, NULL);
  }
  CHECK_EQ(sem_init(&asked, 0, 0), 0);  // only the last one waits for it
  int reached = 0;
  cancel_one(hold_out, &reached);
  CHECK_EQ(reached, 1);
}

static void* leave_early(void* argument) {
  pthread_cleanup_push(clean_up, (void*)100);
  pthread_exit(argument);
  pthread_cleanup_pop(0);
  return NULL;
}

static void test_exit(void) {
  pthread_t thread;
  cleaned = 0;
  start(&thread, leave_early, &thread);
  CHECK(join(thread) == &thread);
  CHECK_EQ(cleaned, 100);
}

// Detached threads: nobody joins; they say that they ran.

static int detached_done;

static void* run_detached(void* argument) {
  if (argument != NULL) { CHECK_EQ(pthread_detach(pthread_self()), 0); }
  __atomic_fetch_add(&detached_done, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

static void test_detached(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK_EQ(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED), 0);
  CHECK_EQ(pthread_attr_setstacksize(&attributes, 1 << 18), 0);
  for (int index = 0; index < crowd; ++index) {
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, index % 2 == 0 ? &attributes : NULL, run_detached, index % 2 == 0 ? NULL : &attributes),
             0);
  }
  for (int tries = 0; __atomic_load_n(&detached_done, __ATOMIC_SEQ_CST) != crowd; ++tries) {
    CHECK(tries < 20000);
    check_sleep_us(1000);
  }
}

// A stack of its own: deep recursion that must not reach a neighbour.

static long deep(long depth) {
  volatile char frame[512];
  memset((void*)frame, (int)depth, sizeof frame);
  const long below = depth > 0 ? deep(depth - 1) : 0;
  CHECK_EQ(frame[511], (char)depth);
  return below + 1;
}

static void* recurse(void* argument) {
  return (void*)deep((long)argument);
}

static void test_stacks(void) {
  pthread_t threads[8];
  for (int index = 0; index < 8; ++index) { start(&threads[index], recurse, (void*)100L); }
  for (int index = 0; index < 8; ++index) { CHECK_EQ((long)join(threads[index]), 101); }
}

int main(int argc, char** argv) {
  check_begin("musl_pthreads", argc, argv);
  test_join_and_mutex();
  test_many_creations();
  test_mutex_kinds();
  test_condition();
  test_broadcast();
  test_timeouts();
  test_barrier();
  test_rwlock();
  test_semaphore();
  test_thread_local();
  test_cancel();
  test_exit();
  test_detached();
  test_stacks();
  return check_done();
}
