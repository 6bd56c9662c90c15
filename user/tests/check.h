// The little that all test programs share: counted checks that end the program at the first failure, an effort scale
// as the first argument, and elapsed time. For C and C++; usable from any thread and, as far as ending with status 1
// goes, from forked children (whose checks are not counted).
//
// A test ends with `return check_done();`, which prints "NAME: N checks ok".

#ifndef CORRAL_USER_TESTS_CHECK_H
#define CORRAL_USER_TESTS_CHECK_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char* check_name = "test";
static long check_effort = 1;
static unsigned long check_count;

// Takes the name of the test and the effort (a whole number, 1 if not given) from the arguments.
static inline void check_begin(const char* name, int argc, char** argv) {
  check_name = name;
  if (argc > 1) {
    char* end = NULL;
    check_effort = strtol(argv[1], &end, 10);
    if (argc > 2 || *argv[1] == '\0' || *end != '\0' || check_effort < 1 || check_effort > 1000000) {
      fprintf(stderr, "usage: %s [EFFORT]   a whole number from 1 (default) that scales the effort\n", name);
      exit(2);
    }
  }
}

static inline int check_done(void) {
  printf("%s: %lu checks ok\n", check_name, __atomic_load_n(&check_count, __ATOMIC_SEQ_CST));
  fflush(stdout);
  return 0;
}

// Formats into a buffer and writes once: safe while other threads hold stdio's locks.
static inline void check_failed(const char* file, int line, const char* what, long long got, long long expected, int values) {
  const int error = errno;
  const char* base = strrchr(file, '/');
  char text[512];
  int length = snprintf(text, sizeof text, "%s: FAILED at %s:%d: %s", check_name, base != NULL ? base + 1 : file, line, what);
  if (values) {
    length += snprintf(text + length, sizeof text - (size_t)length, ": got %lld (0x%llx), expected %lld (0x%llx)", got,
                       (unsigned long long)got, expected, (unsigned long long)expected);
  }
  length += snprintf(text + length, sizeof text - (size_t)length, " [errno %d]\n", error);
  if (length > (int)sizeof text) { length = (int)sizeof text; }
  if (write(STDERR_FILENO, text, (size_t)length) < 0) { _exit(3); }
  _exit(1);
}

static inline void check_true(const char* file, int line, const char* what, int holds) {
  if (!holds) { check_failed(file, line, what, 0, 0, 0); }
  __atomic_fetch_add(&check_count, 1, __ATOMIC_RELAXED);
}

static inline void check_equal(const char* file, int line, const char* what, long long got, long long expected) {
  if (got != expected) { check_failed(file, line, what, got, expected, 1); }
  __atomic_fetch_add(&check_count, 1, __ATOMIC_RELAXED);
}

static inline void check_error(const char* file, int line, const char* what, long long result, int error, int expected) {
  if (result != -1) { check_failed(file, line, what, result, -1, 1); }
  check_equal(file, line, what, error, expected);
}

// The condition must hold.
#define CHECK(condition) check_true(__FILE__, __LINE__, #condition, (condition) ? 1 : 0)

// Both whole numbers must be equal; the message shows them.
#define CHECK_EQ(got, expected) check_equal(__FILE__, __LINE__, #got " == " #expected, (long long)(got), (long long)(expected))

// The call must return -1 and set this errno; the message shows whichever was otherwise.
#define CHECK_ERRNO(call, expected)                                                                 \
  do {                                                                                              \
    const long long check_result = (long long)(call);                                               \
    check_error(__FILE__, __LINE__, #call " fails with " #expected, check_result, errno, expected); \
  } while (0)

static inline int64_t check_now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Turns without a system call; so many that they take time, but no particular one.
static inline void check_spin(long turns) {
  for (long turn = 0; turn < turns; ++turn) { __asm__ volatile(""); }
}

// The number as an address of which the compiler knows nothing.
static inline volatile char* check_address(uintptr_t number) {
  __asm__ volatile("" : "+r"(number));
  return (volatile char*)number;
}

// The flags register. The stack moves for a moment, past what the compiler may keep below it.
static inline uint64_t check_flags(void) {
  uint64_t flags;
  __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tpopq %0\n\tlea 128(%%rsp), %%rsp" : "=r"(flags) : : "memory");
  return flags;
}

// Sleeps at least this long, whatever signals arrive.
static inline void check_sleep_us(int64_t microseconds) {
  struct timespec left;
  left.tv_sec = microseconds / 1000000;
  left.tv_nsec = (microseconds % 1000000) * 1000;
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

#endif
