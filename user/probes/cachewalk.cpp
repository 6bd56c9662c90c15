// Uses memory in an order that a model of a cache can be told exactly, in a region that the emulator's cache model counts
// (tests/system/test_cache_model.py says how).
//
//   cachewalk stream KIB PASSES    reads a word of each line of 64 bytes, from the first to the last, again and again
//   cachewalk matrix N PASSES      multiplies two matrices of N × N words of 4 bytes, which are side by side with their product
//
// Prints how long that took by the guest's clock.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "argument.h"
#include "region.h"

namespace {

constexpr const char* how = "cachewalk stream KIB PASSES | matrix N PASSES";
constexpr long most_kib = 1024, most_rows = 256, most_passes = 1000;
constexpr long words_of_a_line = 16;

alignas(4096) volatile unsigned memory[most_kib * 1024 / sizeof(unsigned)];

[[gnu::noinline]] void stream(long words) {
  for (long i = 0; i < words; i += words_of_a_line) (void)memory[i];
}

[[gnu::noinline]] void multiply(long n) {
  volatile unsigned* const a = memory;
  volatile unsigned* const b = a + n * n;
  volatile unsigned* const product = b + n * n;
  for (long i = 0; i < n; ++i) {
    for (long j = 0; j < n; ++j) {
      unsigned sum = 0;
      for (long k = 0; k < n; ++k) {
        const unsigned factor = a[i * n + k];  // first, so that the order is known
        sum += factor * b[k * n + j];
      }
      product[i * n + j] = sum;
    }
  }
}

long nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_stream = argc == 4 && strcmp(argv[1], "stream") == 0;
  if (!is_stream && (argc != 4 || strcmp(argv[1], "matrix") != 0)) {
    fprintf(stderr, "usage: %s\n", how);
    return 2;
  }
  const long size = number_of(argv[2], is_stream ? most_kib : most_rows, how), passes = number_of(argv[3], most_passes, how);
  for (unsigned& word : const_cast<unsigned(&)[sizeof memory / sizeof *memory]>(memory)) word = 1;  // so that there is memory
  REGION_START();
  const long began = nanoseconds();
  for (long pass = 0; pass < passes; ++pass) {
    if (is_stream) {
      stream(size * 1024 / static_cast<long>(sizeof(unsigned)));
    } else {
      multiply(size);
    }
  }
  const long took = nanoseconds() - began;
  REGION_STOP();
  printf("cachewalk: %s %ld, %ld passes, %ld ns\n", argv[1], size, passes, took);
  return 0;
}
