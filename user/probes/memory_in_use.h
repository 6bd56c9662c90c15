// What the machine's memory is used for, and what became more: for probes that make much and end it, and want all back.
// Of Corral only: /proc/slabinfo is for the superuser, and the names of its lines are those of object sizes.
#pragma once

#include "tests/check.h"

struct MemoryInUse {
  static constexpr int most_sizes = 32;
  struct Size {
    long bytes, objects, pages;
  };
  long free_kib = 0;
  long files_kib = 0;  // contents of files in memory
  long heap_kib = 0;   // held by the kernel's heap
  Size sizes[most_sizes] = {};
  int count = 0;

  // What can be given away again whenever it is wanted is not in use: the heap keeps a slab or two of each size, and
  // the contents of files are what somebody has stored on purpose.
  [[nodiscard]] long used_besides() const { return -(free_kib + files_kib + heap_kib); }
  [[nodiscard]] long objects() const {
    long sum = 0;
    for (int i = 0; i < count; ++i) sum += sizes[i].objects;
    return sum;
  }
};

inline MemoryInUse memory_in_use() {
  MemoryInUse now;
  char line[512];
  FILE* file = fopen("/proc/meminfo", "r");
  CHECK(file != nullptr);
  while (fgets(line, sizeof line, file) != nullptr) {
    (void)(sscanf(line, "MemFree: %ld", &now.free_kib) == 1 || sscanf(line, "Cached: %ld", &now.files_kib) == 1 ||
           sscanf(line, "Slab: %ld", &now.heap_kib) == 1);
  }
  fclose(file);
  CHECK(now.free_kib > 0 && now.heap_kib > 0);
  file = fopen("/proc/slabinfo", "r");
  CHECK(file != nullptr);
  while (now.count < MemoryInUse::most_sizes && fgets(line, sizeof line, file) != nullptr) {
    MemoryInUse::Size& size = now.sizes[now.count];
    if (sscanf(line, "kmalloc-%*d %ld %*d %ld %*d %*d : tunables %*d %*d %*d : slabdata %ld", &size.objects, &size.bytes,
               &size.pages) == 3) {
      ++now.count;
    }
  }
  fclose(file);
  CHECK(now.count > 0);
  return now;
}

// In lines that begin with the test's name: what is more or less than before.
inline void tell_difference(const MemoryInUse& before, const MemoryInUse& after) {
  printf("%s: KiB free %+ld, files %+ld, heap %+ld, else in use %+ld\n", check_name, after.free_kib - before.free_kib,
         after.files_kib - before.files_kib, after.heap_kib - before.heap_kib, after.used_besides() - before.used_besides());
  for (int i = 0; i < after.count && i < before.count; ++i) {
    const MemoryInUse::Size &was = before.sizes[i], &is = after.sizes[i];
    if (was.objects == is.objects && was.pages == is.pages) continue;
    printf("%s: of %ld bytes: objects %+ld to %ld, pages %+ld to %ld\n", check_name, is.bytes, is.objects - was.objects,
           is.objects, is.pages - was.pages, is.pages);
  }
}
