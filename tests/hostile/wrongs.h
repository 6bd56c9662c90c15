// What policies of every kind can do wrong in the same way.
#pragma once

#include "lib/types.h"

namespace corral::sched::hostile {

// Something that the compiler does not look through.
inline void opaque() {
  asm volatile("" ::: "memory");
}

[[noreturn]] inline void never_come_back() {
  for (;;) opaque();
}

inline void write_to_address_0() {
  asm volatile("movq $1, 0" ::: "memory");
}

// Reads through an address with nothing behind it.
inline u32 read_where_nothing_is() {
  return *reinterpret_cast<volatile const u32*>(0x1234'5678'9abc'def0);
}

template <class Policy>
void write_over(Policy& policy) {
  __builtin_memset(static_cast<void*>(&policy), 0xa5, sizeof policy);
}

// Calls itself until the stack ends.
// NOLINTNEXTLINE(misc-no-recursion): that is the point
[[gnu::noinline]] inline i64 use_up_the_stack(i64 depth = 0) {
  volatile i64 room[16];
  room[depth % 16] = depth;
  return depth < 0 ? 0 : use_up_the_stack(depth + 1) + room[0];
}

}  // namespace corral::sched::hostile
