// Walks over memory of a known size, again and again, until the kernel has seen how much that is.
//
//   footprint KIB LOW HIGH          ends when /proc/self/sched tells of LOW to HIGH pages, after ten looks of the kernel at least
//   footprint KIB LOW HIGH bound    the same with how far it is memory-bound, 0 to 1024; 0 counts as 1
//
// Prints "footprint: KIB KiB pages P memory-bound M". Ends with status 1 when the kernel counts nothing. The memory is in small
// pages, so that each page counts for itself.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "argument.h"

namespace {

constexpr const char* how = "footprint KIB LOW HIGH [bound]";
constexpr long most_kib = 1 << 20, most_pages = 1 << 20;
constexpr int looks_wanted = 10;
constexpr long page = 4096;
constexpr long steps_of_a_walk = 100'000;  // so many that reading /proc/self/sched is little beside them

// The number in the line "KEY : NUMBER" of /proc/self/sched; -1: there is no such line.
long told(const char* text, const char* key) {
  const char* line = strstr(text, key);
  const char* colon = line != nullptr ? strchr(line, ':') : nullptr;
  return colon != nullptr ? strtol(colon + 1, nullptr, 10) : -1;
}

void walk(volatile char* memory, long size) {
  for (long step = 0; step < steps_of_a_walk; step += size / page) {
    for (long at = 0; at < size; at += page) memory[at] = static_cast<char>(memory[at] + 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool by_bound = argc == 5 && strcmp(argv[4], "bound") == 0;
  if (argc != 4 && !by_bound) {
    fprintf(stderr, "usage: %s\n", how);
    return 2;
  }
  const long kib = number_of(argv[1], most_kib, how);
  const long low = number_of(argv[2], most_pages, how), high = number_of(argv[3], most_pages, how);
  const long size = kib * 1024;
  void* memory = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || madvise(memory, static_cast<size_t>(size), MADV_NOHUGEPAGE) != 0) {
    perror("footprint");
    return 2;
  }
  long last_sum = -1;
  for (int looks = 0, silent = 0; silent < 300;) {
    walk(static_cast<volatile char*>(memory), size);
    FILE* file = fopen("/proc/self/sched", "r");
    if (file == nullptr) {
      perror("/proc/self/sched");
      return 2;
    }
    char text[8192];
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const long sum = told(text, by_bound ? "counters.refills" : "counters.pages"), pages = told(text, "resources.pages");
    const long bound = told(text, "resources.memory_bound"), seen = !by_bound ? pages : bound > 0 ? bound : 1;
    silent = sum < 0 ? silent + 1 : 0;
    if (sum != last_sum) ++looks;
    last_sum = sum;
    if (looks > looks_wanted && low <= seen && seen <= high) {
      printf("footprint: %ld KiB pages %ld memory-bound %ld\n", kib, pages, bound);
      return 0;
    }
  }
  fputs("footprint: nobody counts\n", stderr);
  return 1;
}
