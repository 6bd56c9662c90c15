// Any bytes as an archive: the reader never reads outside, always ends, and gives only what lies inside.
// sources: kernel/fs/newc.cpp
#include <cstdlib>

#include "fs/newc.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, size_t size) {
  using namespace corral;
  fs::NewcReader reader{{bytes, size}};
  fs::NewcEntry entry;
  u64 entries = 0;
  u64 sum = 0;
  while (reader.next(entry)) {
    if (++entries > size / 110 + 1) std::abort();
    if (entry.name.empty() || entry.name.size() > 4096 || entry.name.front() == '/') std::abort();
    if (!entry.data.empty() && (entry.data.data() < bytes || entry.data.data() + entry.data.size() > bytes + size))
      std::abort();
    for (u8 byte : entry.data) sum += byte;
    for (char c : entry.name) sum += static_cast<unsigned char>(c);
  }
  if (reader.offset() > size || sum == ~u64{0}) std::abort();
  if (reader.next(entry)) std::abort();  // the end is final
  return 0;
}
