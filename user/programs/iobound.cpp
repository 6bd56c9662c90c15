// An I/O-bound load: threads read pages of a file at places in an order that no reading ahead can guess, and compute a little with
// each. How long it takes says how far waits overlap: with more threads on one core it ends sooner, although there is no more
// processor. usage: iobound THREADS FILE [PAGES]
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static constexpr long page = 4096;
static long file_pages, wanted, thread_count;
static int file;
static long next_page;
static uint64_t total;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void* work(void*) {
  uint64_t sum = 0;
  static __thread uint8_t bytes[page];
  for (;;) {
    const long n = __atomic_fetch_add(&next_page, 1, __ATOMIC_RELAXED);
    if (n >= wanted) break;
    // Every 37th page, round and round: each once, and never two in a row.
    const long place = n * 37 % file_pages;
    if (pread(file, bytes, page, place * page) != page) {
      perror("iobound: pread");
      exit(1);
    }
    for (long i = 0; i < page; ++i) sum = sum * 31 + bytes[i];
  }
  __atomic_fetch_add(&total, sum, __ATOMIC_RELAXED);
  return nullptr;
}

int main(int argc, char** argv) {
  thread_count = argc >= 3 ? atol(argv[1]) : 0;
  struct stat info;
  if (argc < 3 || argc > 4 || thread_count < 1 || thread_count > 256) {
    fprintf(stderr,
            "usage: iobound THREADS FILE [PAGES]   1 to 256 threads; a file of at least 64 pages that is not in memory yet\n");
    return 2;
  }
  file = open(argv[2], O_RDONLY);
  if (file < 0 || fstat(file, &info) != 0) {
    perror(argv[2]);
    return 1;
  }
  const long end = lseek(file, 0, SEEK_END);
  file_pages = end / page;
  if (file_pages % 37 == 0) --file_pages;
  wanted = argc == 4 ? atol(argv[3]) : file_pages;
  if (file_pages < 64 || wanted < 1 || wanted > file_pages) {
    fprintf(stderr, "iobound: %s has %ld whole pages\n", argv[2], file_pages);
    return 2;
  }
  pthread_t threads[256];
  const double start = now();
  for (long i = 0; i < thread_count; ++i) {
    if (pthread_create(&threads[i], nullptr, work, nullptr) != 0) {
      fprintf(stderr, "iobound: no thread\n");
      return 1;
    }
  }
  for (long i = 0; i < thread_count; ++i) pthread_join(threads[i], nullptr);
  const double elapsed = now() - start;
  printf("threads %ld pages %ld seconds %.3f pages/s %.0f\n", thread_count, wanted, elapsed, (double)wanted / elapsed);
  return 0;
}
