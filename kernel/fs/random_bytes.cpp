// Random bytes for /dev/random and /dev/urandom. See device_files.h.
#include "fs/device_files.h"
#include "lib/memory_functions.h"
#include "sched/engine/random_source.h"

namespace corral::fs {

void fill_random(std::span<u8> to) {
  while (!to.empty()) {
    const u64 word = random_source::next();
    const u64 size = smaller(to.size(), sizeof word);
    memcpy(to.data(), &word, size);
    to = to.subspan(size);
  }
}

}  // namespace corral::fs
