// The futex call itself, without a library between, for its tests. Its operations have Linux's names and numbers
// (<linux/futex.h>, futex(2)).

#ifndef CORRAL_USER_TESTS_FUTEX_CALL_H
#define CORRAL_USER_TESTS_FUTEX_CALL_H

#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/check.h"

namespace futex_call {

constexpr int FUTEX_WAIT = 0;
constexpr int FUTEX_WAKE = 1;
constexpr int FUTEX_REQUEUE = 3;
constexpr int FUTEX_CMP_REQUEUE = 4;
constexpr int FUTEX_WAIT_BITSET = 9;
constexpr int FUTEX_WAKE_BITSET = 10;
constexpr int FUTEX_PRIVATE_FLAG = 128;
constexpr int FUTEX_CLOCK_REALTIME = 256;
constexpr int FUTEX_CMD_MASK = ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);

using Word = uint32_t;

inline long futex(Word* word, int operation, Word value, const timespec* timeout = nullptr, Word* second = nullptr,
                  Word third = 0) {
  return syscall(SYS_futex, word, operation, value, timeout, second, third);
}

// Wake-ups that never come end here, in seconds; far beyond what a busy host delays.
constexpr timespec long_time = {20, 0};

constexpr int wait_private = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
constexpr int wake_private = FUTEX_WAKE | FUTEX_PRIVATE_FLAG;
constexpr int requeue_private = FUTEX_REQUEUE | FUTEX_PRIVATE_FLAG;
constexpr int cmp_requeue_private = FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG;
constexpr int wait_bitset_private = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
constexpr int wake_bitset_private = FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG;

inline const timespec* as_timeout(unsigned long number) {
  return reinterpret_cast<const timespec*>(number);
}

inline Word load(const Word* word) {
  return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}
inline void store(Word* word, Word value) {
  __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

inline pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread{};
  CHECK_EQ(pthread_create(&thread, nullptr, body, argument), 0);
  return thread;
}

inline void* join(pthread_t thread) {
  void* result = nullptr;
  CHECK_EQ(pthread_join(thread, &result), 0);
  return result;
}

}  // namespace futex_call

#endif
