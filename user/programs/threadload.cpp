// threadload: threads of two classes, real-time and normal, that compete for mutexes and work on memory; the time that each class
// needed is told apart.
//
//   threadload THREADS [real-time PERCENT] [policy fifo|rr] [rounds N] [locks N] [shared KIB] [own KIB] [seed N]
//     THREADS    1 to 20000
//     real-time  how many in a hundred are real-time, mixed evenly with the others (50)
//     policy     the real-time class's (fifo), at the same priority for all
//     rounds     how often each thread does what is below (4)
//     locks      mutexes of each class (8)
//     shared     memory of each class, of which each mutex protects a part, in KiB (32)
//     own        memory of each thread, in KiB (1)
//     seed       chooses the mutexes and how much of its own memory a thread works on (1)
//
// A round: lock a mutex of the own class, change all numbers that it protects, yield with the mutex held, unlock it; change a half
// to all of the own memory; yield. The classes share nothing but the machine. All threads wait at a gate until the last one is made.
//
// Prints for each class that has threads
//   threadload: CLASS threads=N done_us=… mean_us=…     from the opening of the gate until the last one, or one on average, was done
//   threadload: all threads=N made_us=… done_us=…       made_us: until all threads stood at the gate
// For the emulator's cache model the same is between the marks `reset` and `dump` (docs/cache-model.md). Static, so that the identical
// file runs on Linux.

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "region.h"

namespace {

constexpr int most_threads = 20'000, most_locks = 1'024;
constexpr int priority = 10;
constexpr int futex_wait_private = 128, futex_wake_private = 129;
constexpr size_t stack_bytes = 16 << 10;
constexpr size_t words_of_kib = 1024 / sizeof(uint64_t);

enum Class : int { normal, real_time, classes };
constexpr const char* class_names[classes] = {"normal", "real-time"};

struct Plan {
  int threads = 0;
  int real_time_percent = 50;
  int policy = SCHED_FIFO;
  int rounds = 4, locks = 8, shared_kib = 32, own_kib = 1, seed = 1;
};
Plan plan;

// What is under one mutex: lines of its own.
struct alignas(64) Lock {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};
Lock locks[classes][most_locks];
volatile uint64_t* shared[classes];

struct Thread {
  pthread_t handle;
  Class of;
  int64_t done_us;  // since the gate was opened
};
Thread threads[most_threads];
volatile uint64_t* own_memory;

// Futex words.
int arrived = 0;
struct alignas(64) Gate {
  int open = 0;
} gates[classes];  // one for each class: who waits for one word is woken in the order of priority
int64_t opened_at = 0;  // written before the gate is opened

[[noreturn]] void wrong(const char* why) {
  fprintf(stderr,
          "threadload: %s\nusage: threadload THREADS [real-time PERCENT] [policy fifo|rr] [rounds N] [locks N] [shared KIB] "
          "[own KIB] "
          "[seed N]\n",
          why);
  exit(2);
}

int number_of(const char* text, int least, int most) {
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < least || value > most) wrong(text);
  return static_cast<int>(value);
}

int64_t microseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000} + now.tv_nsec / 1000;
}

void wait_until_changed(int* word, int from) {
  syscall(SYS_futex, word, futex_wait_private, from, nullptr);
}
void wake_all(int* word) {
  syscall(SYS_futex, word, futex_wake_private, INT_MAX);
}

// xorshift64*, never 0.
class Random {
 public:
  explicit Random(uint64_t seed) : state_{seed * 0x9e3779b97f4a7c15 | 1} {}
  unsigned below(unsigned limit) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<unsigned>((state_ * 0x2545f4914f6cdd1d >> 33) % limit);
  }

 private:
  uint64_t state_;
};

void change(volatile uint64_t* words, size_t count) {
  for (size_t i = 0; i < count; ++i) words[i] = words[i] + 1;
}

void round(Class of, Random& random, volatile uint64_t* own) {
  const unsigned lock = random.below(static_cast<unsigned>(plan.locks));
  const size_t part = static_cast<size_t>(plan.shared_kib) * words_of_kib / static_cast<size_t>(plan.locks);
  pthread_mutex_lock(&locks[of][lock].mutex);
  change(shared[of] + lock * part, part);
  sched_yield();
  pthread_mutex_unlock(&locks[of][lock].mutex);
  const unsigned all = static_cast<unsigned>(plan.own_kib * words_of_kib);
  change(own, all / 2 + random.below(all / 2 + 1));
  sched_yield();
}

void* run(void* argument) {
  Thread& self = *static_cast<Thread*>(argument);
  const auto number = static_cast<size_t>(&self - threads);
  if (self.of == real_time) {
    sched_param parameters{};
    parameters.sched_priority = priority;
    if (pthread_setschedparam(pthread_self(), plan.policy, &parameters) != 0) wrong("no right to be real-time");
  }
  Random random{static_cast<uint64_t>(plan.seed) * most_threads + number};
  if (__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST) == plan.threads) wake_all(&arrived);
  int* const gate = &gates[self.of].open;
  while (__atomic_load_n(gate, __ATOMIC_SEQ_CST) == 0) wait_until_changed(gate, 0);
  for (int i = 0; i < plan.rounds; ++i) {
    round(self.of, random, own_memory + number * static_cast<size_t>(plan.own_kib) * words_of_kib);
  }
  self.done_us = microseconds() - opened_at;
  return nullptr;
}

volatile uint64_t* memory_of(size_t kib) {
  void* const got =
      mmap(nullptr, kib > 0 ? kib << 10 : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (got == MAP_FAILED) wrong("not enough memory");
  return static_cast<volatile uint64_t*>(got);
}

void understand(int argc, char** argv) {
  if (argc < 2 || argc % 2 != 0) wrong("how many threads, and pairs of a word and its value");
  plan.threads = number_of(argv[1], 1, most_threads);
  for (int i = 2; i < argc; i += 2) {
    const char* const word = argv[i];
    const char* const value = argv[i + 1];
    if (strcmp(word, "policy") == 0) {
      if (strcmp(value, "fifo") != 0 && strcmp(value, "rr") != 0) wrong(value);
      plan.policy = strcmp(value, "rr") == 0 ? SCHED_RR : SCHED_FIFO;
    } else if (strcmp(word, "real-time") == 0) {
      plan.real_time_percent = number_of(value, 0, 100);
    } else if (strcmp(word, "rounds") == 0) {
      plan.rounds = number_of(value, 1, 1'000'000);
    } else if (strcmp(word, "locks") == 0) {
      plan.locks = number_of(value, 1, most_locks);
    } else if (strcmp(word, "shared") == 0) {
      plan.shared_kib = number_of(value, 0, 1 << 16);
    } else if (strcmp(word, "own") == 0) {
      plan.own_kib = number_of(value, 0, 1 << 10);
    } else if (strcmp(word, "seed") == 0) {
      plan.seed = number_of(value, 1, 1'000'000);
    } else {
      wrong(word);
    }
  }
}

// The class of thread `number`: so that of the first n threads n * percent / 100 are real-time, for every n.
Class class_of(int number) {
  const int percent = plan.real_time_percent;
  return (number + 1) * percent / 100 > number * percent / 100 ? real_time : normal;
}

void make_threads() {
  const rlimit many{RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_NPROC, &many);  // where it may not, fewer threads can be made
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  for (int i = 0; i < plan.threads; ++i) {
    threads[i].of = class_of(i);
    if (const int error = pthread_create(&threads[i].handle, &attributes, run, &threads[i]); error != 0) wrong(strerror(error));
  }
  for (int here = 0; (here = __atomic_load_n(&arrived, __ATOMIC_SEQ_CST)) != plan.threads;) wait_until_changed(&arrived, here);
}

void tell(Class of) {
  int64_t count = 0, last = 0, sum = 0;
  for (int i = 0; i < plan.threads; ++i) {
    if (threads[i].of != of) continue;
    ++count;
    sum += threads[i].done_us;
    if (threads[i].done_us > last) last = threads[i].done_us;
  }
  if (count == 0) return;
  printf("threadload: %s threads=%lld done_us=%lld mean_us=%lld\n", class_names[of], static_cast<long long>(count),
         static_cast<long long>(last), static_cast<long long>(sum / count));
}

}  // namespace

int main(int argc, char** argv) {
  understand(argc, argv);
  own_memory = memory_of(static_cast<size_t>(plan.threads) * static_cast<size_t>(plan.own_kib));
  for (auto& each : shared) each = memory_of(static_cast<size_t>(plan.shared_kib));
  const int64_t began = microseconds();
  make_threads();

  REGION_RESET();
  opened_at = microseconds();
  for (Gate& gate : gates) {
    __atomic_store_n(&gate.open, 1, __ATOMIC_SEQ_CST);
    wake_all(&gate.open);
  }
  for (int i = 0; i < plan.threads; ++i) pthread_join(threads[i].handle, nullptr);
  const int64_t took = microseconds() - opened_at;
  REGION_DUMP(1);
  tell(normal);
  tell(real_time);
  printf("threadload: all threads=%d made_us=%lld done_us=%lld\n", plan.threads, static_cast<long long>(opened_at - began),
         static_cast<long long>(took));
  return 0;
}
