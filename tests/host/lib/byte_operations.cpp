// The kernel's memcpy and its relatives against the C library's, at every alignment and small size.
#include "lib/byte_operations.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "lib/random.h"

namespace corral {
namespace {

int sign(int x) {
  return (x > 0) - (x < 0);
}

TEST(ByteOperations, CopyMoveFill) {
  Random random{5};
  for (int round = 0; round < 20'000; ++round) {
    std::vector<u8> ours(160);
    for (u8& byte : ours) byte = static_cast<u8>(random.next());
    std::vector<u8> theirs = ours;
    const size_t size = random.below(70);
    const size_t from = random.below(ours.size() - size);
    const size_t to = random.below(ours.size() - size);
    switch (random.below(3)) {
      case 0:
        bytes::move(ours.data() + to, ours.data() + from, size);
        memmove(theirs.data() + to, theirs.data() + from, size);
        break;
      case 1:
        if (to + size > from && from + size > to) continue;
        bytes::copy_forwards(ours.data() + to, ours.data() + from, size);
        memcpy(theirs.data() + to, theirs.data() + from, size);
        break;
      default:
        bytes::fill(ours.data() + to, static_cast<u8>(round), size);
        memset(theirs.data() + to, static_cast<u8>(round), size);
    }
    ASSERT_EQ(ours, theirs) << "from " << from << " to " << to << " size " << size;
  }
}

TEST(ByteOperations, CompareFindLength) {
  Random random{6};
  for (int round = 0; round < 20'000; ++round) {
    u8 a[32];
    u8 b[32];
    for (int i = 0; i < 32; ++i) {
      a[i] = static_cast<u8>(random.below(3) * 100);
      b[i] = random.one_in(8) ? static_cast<u8>(random.below(3) * 100) : a[i];
    }
    const size_t size = random.below(33);
    ASSERT_EQ(bytes::compare(a, b, size), sign(memcmp(a, b, size)));
    ASSERT_EQ(bytes::find(a, 200, size), memchr(a, 200, size));
    a[31] = 0;
    ASSERT_EQ(bytes::length(reinterpret_cast<char*>(a)), strlen(reinterpret_cast<char*>(a)));
  }
}

}  // namespace
}  // namespace corral
