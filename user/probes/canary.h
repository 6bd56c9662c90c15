// What the probes for leaks share. The kernel, booted with `memory.canary`, fills what it leaves behind with one byte
// (kernel/memory/canary.h); here programs look for it in all that they can see. Nothing in a probe may hold the pattern
// itself, so it is computed where it is compared, one byte at a time.

#ifndef CORRAL_USER_PROBES_CANARY_H
#define CORRAL_USER_PROBES_CANARY_H

#include <fcntl.h>
#include <stddef.h>

#include "tests/check.h"

namespace canary {

inline volatile uint8_t half_of_the_byte = 0x53;
inline uint8_t byte() {
  return static_cast<uint8_t>(half_of_the_byte * 2 + 1);
}
constexpr size_t run_anywhere = 4;  // bytes in a row that are no accident, wherever they stand
constexpr size_t nowhere = ~size_t{0};

// The offset of the first run of so many canary bytes, or nowhere.
inline size_t find(const void* memory, size_t size, size_t run_wanted) {
  const auto* bytes = static_cast<const volatile uint8_t*>(memory);
  const uint8_t wanted = byte();
  size_t run = 0;
  for (size_t index = 0; index < size; ++index) {
    run = bytes[index] == wanted ? run + 1 : 0;
    if (run == run_wanted) { return index + 1 - run; }
  }
  return nowhere;
}

// The memory must be free of the pattern; says where and in what it was found.
inline void expect_none(const char* what, const void* memory, size_t size, size_t run = run_anywhere) {
  const size_t at = find(memory, size, run);
  if (at != nowhere) {
    printf("the kernel's leavings in %s, at offset %zu of %zu\n", what, at, size);
    CHECK(at == nowhere);
  }
  __atomic_fetch_add(&check_count, 1, __ATOMIC_RELAXED);
}

// Looks through every readable mapping of this process: stack, data, heap, mappings, what handlers' frames left behind.
// Answers how many bytes.
inline size_t expect_none_anywhere() {
  static char text[65536];
  const int file = open("/proc/self/maps", O_RDONLY);
  CHECK(file >= 0);
  size_t length = 0;
  for (ssize_t got = 0; (got = read(file, text + length, sizeof text - 1 - length)) > 0;) {
    length += static_cast<size_t>(got);
  }
  CHECK_EQ(close(file), 0);
  CHECK(length > 0 && length < sizeof text - 1);
  text[length] = '\0';
  size_t seen = 0;
  for (char* line = text; *line != '\0';) {
    char* end = nullptr;
    const unsigned long from = strtoul(line, &end, 16);
    const unsigned long to = strtoul(end + 1, &end, 16);
    char* next = strchr(end, '\n');
    CHECK(next != nullptr);
    *next = '\0';
    if (end[1] == 'r' && strstr(line, "[vvar") == nullptr) {  // Linux's, of which not every page can be read
      expect_none(line, reinterpret_cast<const void*>(from), to - from);
      seen += to - from;
    }
    line = next + 1;
  }
  CHECK(seen > 0);
  return seen;
}

}  // namespace canary

#endif
