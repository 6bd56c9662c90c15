// matrix: threads that multiply matrices by a number, again and again, as a load for caches and schedulers.
//
//   matrix SIZE SAMPLES HARD NORMAL EASY [pool N] [pin] [divide D]
//     SIZE      small: 20×25 numbers of 8 bytes; medium: 40×50; large: 80×100; parts: the four quarters of one large matrix
//     SAMPLES   how many matrices there are, 1 to 16: thread number t works on matrix t modulo SAMPLES
//     HARD …    how many threads multiply 10000, 1000 and 100 times; they are mixed evenly
//     pool N    the work is not of threads of its own, but of N threads that take it from a list under a lock
//     pin       thread t stays on core t modulo the number of cores
//     divide D  divides the numbers of multiplications, for a quick look
//
// Prints "matrix: runtime_us=…", from before the first thread is made until the last one has ended. For the emulator's cache model
// the same is between the marks `reset` and `dump` (docs/cache-model.md). Static, so that the identical file runs on Linux.

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "region.h"

namespace {

constexpr int most_samples = 16, most_work = 256, large_rows = 80, large_columns = 100;
constexpr int levels = 3, repeats_of[levels] = {10'000, 1'000, 100};
constexpr uint64_t factor = 3;

struct Size {
  const char* name;
  int rows, columns, row_length;
};
constexpr Size sizes[] = {
    {"small", 20, 25, 25}, {"medium", 40, 50, 50}, {"large", 80, 100, 100}, {"parts", 40, 50, large_columns}};

struct Work {
  volatile uint64_t* matrix;
  int repeats;
};

alignas(4096) volatile uint64_t samples[most_samples][large_rows * large_columns];
Size size;
Work work[most_work];
int work_count = 0;
int pool = 0;
bool pinned = false;
int threads = 0;

pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
int next_work = 0;  // list_lock

[[noreturn]] void wrong(const char* why) {
  fprintf(stderr, "matrix: %s\nusage: matrix small|medium|large|parts SAMPLES HARD NORMAL EASY [pool N] [pin] [divide D]\n",
          why);
  exit(2);
}

int number_of(const char* text, int least, int most) {
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < least || value > most) wrong(text);
  return static_cast<int>(value);
}

void multiply(const Work& own) {
  for (int repeat = 0; repeat < own.repeats; ++repeat) {
    for (int row = 0; row < size.rows; ++row) {
      volatile uint64_t* const numbers = own.matrix + row * size.row_length;
      for (int column = 0; column < size.columns; ++column) numbers[column] = numbers[column] * factor;
    }
  }
}

void stay_on(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<unsigned>(core), &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) != 0) wrong("no core to stay on");
}

// Work of its own, or one after another from the list.
void* run(void* own) {
  const Work* const mine = static_cast<Work*>(own);
  if (pinned) stay_on(static_cast<int>(mine - work) % static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  if (pool == 0) {
    multiply(*mine);
    return nullptr;
  }
  for (;;) {
    pthread_mutex_lock(&list_lock);
    const int taken = next_work < work_count ? next_work++ : -1;
    pthread_mutex_unlock(&list_lock);
    if (taken < 0) return nullptr;
    multiply(work[taken]);
  }
}

// The work of all levels, mixed so that each level comes as evenly as its share is.
void make_work(const int (&counts)[levels], int sample_count, int divisor) {
  int left[levels], all = 0;
  for (int level = 0; level < levels; ++level) all += left[level] = counts[level];
  if (all < 1 || all > most_work) wrong("1 to 256 threads");
  for (; work_count < all; ++work_count) {
    int best = 0;
    // The level that has the largest part of what it began with still to come.
    for (int level = 1; level < levels; ++level) {
      if (left[level] * (counts[best] > 0 ? counts[best] : 1) > left[best] * (counts[level] > 0 ? counts[level] : 1))
        best = level;
    }
    --left[best];
    const int sample = work_count % sample_count;
    volatile uint64_t* matrix = samples[sample];
    if (strcmp(size.name, "parts") == 0) {
      const int part = work_count % 4;
      matrix = samples[0] + part / 2 * size.rows * size.row_length + part % 2 * size.columns;
    }
    work[work_count] = {matrix, repeats_of[best] / divisor};
  }
}

int64_t microseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000} + now.tv_nsec / 1000;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) wrong("too few words");
  for (const Size& each : sizes) {
    if (strcmp(argv[1], each.name) == 0) size = each;
  }
  if (size.name == nullptr) wrong(argv[1]);
  const int sample_count = number_of(argv[2], 1, most_samples);
  int counts[levels], divisor = 1;
  for (int level = 0; level < levels; ++level) counts[level] = number_of(argv[3 + level], 0, most_work);
  for (int i = 6; i < argc; ++i) {
    if (strcmp(argv[i], "pin") == 0) {
      pinned = true;
    } else if (strcmp(argv[i], "pool") == 0 && i + 1 < argc) {
      pool = number_of(argv[++i], 1, most_work);
    } else if (strcmp(argv[i], "divide") == 0 && i + 1 < argc) {
      divisor = number_of(argv[++i], 1, 100);
    } else {
      wrong(argv[i]);
    }
  }
  make_work(counts, sample_count, divisor);
  for (auto& sample : samples) {
    for (volatile uint64_t& each : sample) each = 1;
  }
  threads = pool != 0 ? pool : work_count;
  static pthread_t made[most_work];

  REGION_RESET();
  const int64_t began = microseconds();
  for (int i = 0; i < threads; ++i) {
    if (pthread_create(&made[i], nullptr, run, &work[i]) != 0) wrong("a thread could not be made");
  }
  for (int i = 0; i < threads; ++i) pthread_join(made[i], nullptr);
  const int64_t took = microseconds() - began;
  REGION_DUMP(1);
  printf("matrix: runtime_us=%lld\n", static_cast<long long>(took));
  return 0;
}
