// What the tests of memory share: mappings, what smaps says of them, and accesses that must fault with the right address and code.

#ifndef CORRAL_USER_TESTS_MAPPINGS_H
#define CORRAL_USER_TESTS_MAPPINGS_H

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/check.h"

namespace mappings {

constexpr size_t page = 4096;
constexpr int read_write = PROT_READ | PROT_WRITE;

inline char* map(size_t size, int protection = read_write, int flags = 0, void* where = nullptr) {
  void* result = mmap(where, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  CHECK(result != MAP_FAILED);
  return static_cast<char*>(result);
}

// The number behind a name in what smaps says of the area that begins there.
inline long amount_in_area(const void* start, const char* name) {
  FILE* file = fopen("/proc/self/smaps", "r");
  CHECK(file != nullptr);
  char line[256];
  bool inside = false;
  long amount = -1;
  while (fgets(line, sizeof line, file) != nullptr) {
    unsigned long from = 0, to = 0;
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2) inside = from == reinterpret_cast<unsigned long>(start);
    const size_t length = strlen(name);
    if (inside && strncmp(line, name, length) == 0 && line[length] == ':') sscanf(line + length + 1, "%ld kB", &amount);
  }
  CHECK_EQ(fclose(file), 0);
  return amount;
}

// Faults: the handler notes what the kernel said and jumps back.

inline thread_local sigjmp_buf recovery;
inline thread_local volatile int fault_signal;
inline thread_local volatile int fault_code;
inline thread_local void* volatile fault_address;

inline void on_fault(int signal, siginfo_t* info, void*) {
  fault_signal = signal;
  fault_code = info->si_code;
  fault_address = info->si_addr;
  siglongjmp(recovery, 1);
}

// Runs the access; true if it faulted.
template <typename Access>
bool faults(Access access) {
  fault_signal = 0;
  if (sigsetjmp(recovery, 1) == 0) {
    access();
    return false;
  }
  return true;
}

inline void expect_read_fault(const volatile char* at, int code) {
  CHECK(faults([at] { (void)*at; }));
  CHECK_EQ(fault_signal, SIGSEGV);
  CHECK_EQ(fault_code, code);
  CHECK_EQ(reinterpret_cast<intptr_t>(fault_address), reinterpret_cast<intptr_t>(at));
}

inline void expect_write_fault(volatile char* at, int code) {
  CHECK(faults([at] { *at = 1; }));
  CHECK_EQ(fault_signal, SIGSEGV);
  CHECK_EQ(fault_code, code);
  CHECK_EQ(reinterpret_cast<intptr_t>(fault_address), reinterpret_cast<intptr_t>(at));
}

inline void catch_faults() {
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  CHECK_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  CHECK_EQ(sigaction(SIGBUS, &action, nullptr), 0);
}

inline bool is_zero(const char* bytes, size_t size) {
  for (size_t index = 0; index < size; index += 8) {
    uint64_t word = 0;
    memcpy(&word, bytes + index, 8);
    if (word != 0) { return false; }
  }
  return true;
}

}  // namespace mappings

#endif
