// How bytes are copied, filled and compared: the bodies of lib/memory_functions.cpp, under names that a host test can
// call beside its own C library. No vector registers. Any context.
//
// On x86-64 the string instructions do the work: with 8 bytes a step they are the fewest instructions for an
// emulated processor and fast microcode for a real one (Intel SDM vol. 1, 7.3.9; vol. 2, REP). The direction flag is
// clear in the kernel, as the ABI demands. Elsewhere plain loops, whose volatile accesses keep the compiler from
// recognising them and calling the very function that they implement.
#pragma once

#include <cstddef>

#include "lib/types.h"

namespace corral::bytes {

// Forwards, from the lowest address on; the ranges may overlap when `to` is below `from`.
inline void copy_forwards(void* to, const void* from, size_t size) {
#if defined(__x86_64__)
  size_t words = size / 8;
  size_t rest = size % 8;
  asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words)::"memory");
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(rest)::"memory");
#else
  auto* target = static_cast<volatile u8*>(to);
  auto* source = static_cast<const u8*>(from);
  for (size_t i = 0; i < size; ++i) target[i] = source[i];
#endif
}

// From the highest address down: for overlapping ranges with `to` above `from`.
inline void copy_backwards(void* to, const void* from, size_t size) {
  auto* target = static_cast<volatile u8*>(to);
  auto* source = static_cast<const volatile u8*>(from);
  while (size % 8 != 0) {
    --size;
    target[size] = source[size];
  }
  struct __attribute__((packed, may_alias)) Word {
    u64 value;
  };
  while (size != 0) {
    size -= 8;
    const u64 word = reinterpret_cast<const volatile Word*>(source + size)->value;
    reinterpret_cast<volatile Word*>(target + size)->value = word;
  }
}

inline void move(void* to, const void* from, size_t size) {
  const u64 distance = reinterpret_cast<u64>(to) - reinterpret_cast<u64>(from);
  if (distance >= size) {  // `to` is below, or the ranges do not meet
    copy_forwards(to, from, size);
  } else if (distance != 0) {
    copy_backwards(to, from, size);
  }
}

inline void fill(void* to, u8 value, size_t size) {
#if defined(__x86_64__)
  u64 pattern = value * 0x0101'0101'0101'0101u;
  size_t words = size / 8;
  size_t rest = size % 8;
  asm volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(pattern) : "memory");
  asm volatile("rep stosb" : "+D"(to), "+c"(rest) : "a"(pattern) : "memory");
#else
  auto* target = static_cast<volatile u8*>(to);
  for (size_t i = 0; i < size; ++i) target[i] = value;
#endif
}

// Negative, 0 or positive, as the first differing bytes compare, unsigned.
inline int compare(const void* a, const void* b, size_t size) {
  auto* left = static_cast<const volatile u8*>(a);
  auto* right = static_cast<const volatile u8*>(b);
  for (size_t i = 0; i < size; ++i) {
    const u8 x = left[i];
    const u8 y = right[i];
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

inline size_t length(const char* text) {
  auto* p = static_cast<const volatile char*>(text);
  size_t n = 0;
  while (p[n] != 0) ++n;
  return n;
}

// The first byte that equals `value`, or null.
inline const void* find(const void* from, u8 value, size_t size) {
  auto* p = static_cast<const volatile u8*>(from);
  for (size_t i = 0; i < size; ++i) {
    if (p[i] == value) return static_cast<const u8*>(from) + i;
  }
  return nullptr;
}

}  // namespace corral::bytes
