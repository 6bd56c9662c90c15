// See the header. The order of each side: publish after reading the own counter, read the own counter after looking.
#include "platform/pc/tsc_check.h"

#include "arch/processor.h"
#include "lib/atomic.h"
#include "lib/types.h"

namespace corral::platform::tsc_check {

namespace {

constexpr u32 rounds = 200;
constinit Atomic<u64> of_bootstrap{0};
constinit Atomic<u64> of_starting{0};
constinit Atomic<bool> behind{false};  // the starting core saw a later time than its own
constinit Atomic<bool> ahead{false};   // the bootstrap core did

u64 cycles() {
  asm volatile("lfence" ::: "memory");
  return arch::cycle_counter();
}

void step(Atomic<u64>& own, const Atomic<u64>& other, Atomic<bool>& other_is_later) {
  const u64 seen = other.load(Order::acquire);
  const u64 now = cycles();
  if (now < seen) other_is_later.store(true, Order::relaxed);
  own.store(now, Order::release);
}

}  // namespace

void begin() {
  of_starting.store(0, Order::relaxed);
  of_bootstrap.store(cycles(), Order::release);
}

void bootstrap_step() {
  step(of_bootstrap, of_starting, ahead);
}

void check_here() {
  for (u32 i = 0; i < rounds; ++i) step(of_starting, of_bootstrap, behind);
}

bool disagreed() {
  return behind.load(Order::relaxed) || ahead.load(Order::relaxed);
}

}  // namespace corral::platform::tsc_check
