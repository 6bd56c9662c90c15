// Random bytes for /dev/random and /dev/urandom. See device_files.h.
#include "arch/processor.h"
#include "device/clock.h"
#include "fs/device_files.h"
#include "lib/atomic.h"
#include "lib/memory_functions.h"

namespace corral::fs {

namespace {

constinit Atomic<u64> state{0};

// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014), stirred by the cycle counter.
u64 next_word() {
  u64 word = 0;
  if (arch::hardware_random(word)) return word;
  u64 z = state.fetch_add(0x9e37'79b9'7f4a'7c15, Order::relaxed) + arch::cycle_counter() +
          static_cast<u64>(clock::boot_wall_time_ns());
  z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
  z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
  return z ^ (z >> 31);
}

}  // namespace

void fill_random(std::span<u8> to) {
  while (!to.empty()) {
    const u64 word = next_word();
    const u64 size = smaller(to.size(), sizeof word);
    memcpy(to.data(), &word, size);
    to = to.subspan(size);
  }
}

}  // namespace corral::fs
