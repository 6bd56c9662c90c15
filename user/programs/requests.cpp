// requests: message threads wake worker threads, who compute a little and ask again; how late they run, and how long requests take.
//
//   requests MESSENGERS WORKERS REQUESTS ROUNDS SLEEP
//     MESSENGERS  message threads, 1 to 64
//     WORKERS     of each message thread, 1 to 256
//     REQUESTS    of all workers together, 1 to 1000000; who is ready takes the next
//     ROUNDS      of computing for a request, 0 to 1000000, some four instructions each
//     SLEEP       µs that a worker sleeps between its requests, 0 to 1000000
//
// A worker asks by putting itself into its messenger's list, and waits; the messenger takes the list, and sends each its request with the
// time in it. wake: from then until the worker runs. request: from then until it has computed. Prints of all of either the percentiles:
//   requests: requests=… wake_p50_ns=… wake_p99_ns=… wake_worst_ns=… request_p50_ns=… request_p99_ns=… request_worst_ns=…
// Static, so that the identical file runs on Linux.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr int most_messengers = 64, most_workers = 256, most_requests = 1'000'000, most_rounds = 1'000'000,
              most_sleep = 1'000'000;
constexpr size_t cache_line = 64;
constexpr int FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129;  // futex(2)

struct Messenger;

struct alignas(cache_line) Worker {
  uint32_t sent;  // a futex: 1 when its request is there
  int64_t sent_at;  // written before `sent`, by the messenger
  Worker* next;  // in the list of those who ask
  Messenger* messenger;
  pthread_t thread;
};

struct alignas(cache_line) Messenger {
  Worker* asking;  // a list that workers push onto and the messenger takes as a whole
  uint32_t asked;  // a futex: how often it was asked, or left
  uint32_t workers;  // that have not left
  pthread_t thread;
};

int worker_count, request_count, round_count, sleep_us;
Messenger messengers[most_messengers];
Worker* workers;
int64_t* wake_times;  // ns, of each request
int64_t* request_times;
int next_request = 0;
volatile uint64_t computed;

[[noreturn]] void wrong(const char* why) {
  fprintf(stderr, "requests: %s\nusage: requests MESSENGERS WORKERS REQUESTS ROUNDS SLEEP\n", why);
  exit(2);
}

int number_of(const char* text, int least, int most) {
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < least || value > most) wrong(text);
  return static_cast<int>(value);
}

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

void wait_while(uint32_t& word, uint32_t value) {
  while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == value) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
  }
}

void wake_one(uint32_t& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void ask(Worker& own) {
  Messenger& messenger = *own.messenger;
  own.next = __atomic_load_n(&messenger.asking, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&messenger.asking, &own.next, &own, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
  __atomic_add_fetch(&messenger.asked, 1, __ATOMIC_RELEASE);
  wake_one(messenger.asked);
}

void compute() {
  uint64_t value = 1;
  for (int round = 0; round < round_count; ++round) value = value * 6364136223846793005 + 1442695040888963407;
  computed = value;
}

void* work(void* argument) {
  Worker& own = *static_cast<Worker*>(argument);
  for (;;) {
    __atomic_store_n(&own.sent, 0, __ATOMIC_RELAXED);
    ask(own);
    wait_while(own.sent, 0);
    const int64_t sent_at = own.sent_at, woken_at = now_ns();
    const int request = __atomic_fetch_add(&next_request, 1, __ATOMIC_RELAXED);
    if (request >= request_count) break;
    compute();
    request_times[request] = now_ns() - sent_at;
    wake_times[request] = woken_at - sent_at;
    if (sleep_us != 0) usleep(static_cast<useconds_t>(sleep_us));
  }
  __atomic_sub_fetch(&own.messenger->workers, 1, __ATOMIC_RELAXED);
  __atomic_add_fetch(&own.messenger->asked, 1, __ATOMIC_RELEASE);
  wake_one(own.messenger->asked);
  return nullptr;
}

void* send(void* argument) {
  Messenger& own = *static_cast<Messenger*>(argument);
  for (;;) {
    const uint32_t asked = __atomic_load_n(&own.asked, __ATOMIC_ACQUIRE);
    Worker* worker = __atomic_exchange_n(&own.asking, nullptr, __ATOMIC_ACQUIRE);
    if (worker == nullptr) {
      if (__atomic_load_n(&own.workers, __ATOMIC_RELAXED) == 0) return nullptr;
      wait_while(own.asked, asked);
    }
    while (worker != nullptr) {
      Worker& one = *worker;
      worker = one.next;  // before it is sent its request: then it may ask again
      one.sent_at = now_ns();
      __atomic_store_n(&one.sent, 1, __ATOMIC_RELEASE);
      wake_one(one.sent);
    }
  }
}

void start(pthread_t& thread, void* (*run)(void*), void* argument) {
  if (pthread_create(&thread, nullptr, run, argument) == 0) return;
  fprintf(stderr, "requests: a thread could not be made\n");
  exit(1);
}

// Untouched pages would make the first samples of each thread wait for the kernel.
template <class Type>
Type* touched(int count) {
  Type* const made = static_cast<Type*>(aligned_alloc(4096, (sizeof(Type) * static_cast<size_t>(count) + 4095) / 4096 * 4096));
  if (made == nullptr) {
    fprintf(stderr, "requests: out of memory\n");
    exit(1);
  }
  for (int i = 0; i < count; ++i) made[i] = Type{};
  return made;
}

int by_value(const void* a, const void* b) {
  const int64_t first = *static_cast<const int64_t*>(a), second = *static_cast<const int64_t*>(b);
  return first < second ? -1 : first > second ? 1 : 0;
}

// The least sample that so many in a hundred do not exceed.
long long percentile(const int64_t* sorted, int percent) {
  return sorted[(int64_t{request_count} * percent + 99) / 100 - 1];
}

void print(const char* name, int64_t* times) {
  qsort(times, static_cast<size_t>(request_count), sizeof *times, by_value);
  printf(" %s_p50_ns=%lld %s_p99_ns=%lld %s_worst_ns=%lld", name, percentile(times, 50), name, percentile(times, 99), name,
         percentile(times, 100));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) wrong(argc < 6 ? "too few words" : "too many words");
  const int messenger_count = number_of(argv[1], 1, most_messengers);
  worker_count = number_of(argv[2], 1, most_workers);
  request_count = number_of(argv[3], 1, most_requests);
  round_count = number_of(argv[4], 0, most_rounds);
  sleep_us = number_of(argv[5], 0, most_sleep);
  workers = touched<Worker>(messenger_count * worker_count);
  wake_times = touched<int64_t>(request_count);
  request_times = touched<int64_t>(request_count);
  for (int i = 0; i < messenger_count; ++i) {
    messengers[i].workers = static_cast<uint32_t>(worker_count);
    start(messengers[i].thread, send, &messengers[i]);
  }
  for (int i = 0; i < messenger_count * worker_count; ++i) {
    workers[i].messenger = &messengers[i / worker_count];
    start(workers[i].thread, work, &workers[i]);
  }
  for (int i = 0; i < messenger_count * worker_count; ++i) pthread_join(workers[i].thread, nullptr);
  for (int i = 0; i < messenger_count; ++i) pthread_join(messengers[i].thread, nullptr);
  printf("requests: requests=%d", request_count);
  print("wake", wake_times);
  print("request", request_times);
  printf("\n");
  return 0;
}
