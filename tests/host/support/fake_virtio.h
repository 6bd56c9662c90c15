// The device's side of a split virtqueue, on memory of the host whose "physical" addresses are pointers.
#pragma once

#include <cstring>
#include <vector>

#include "device/virtio/split_queue.h"

namespace corral::test {

class FakeVirtio {
 public:
  explicit FakeVirtio(u32 count) : entries{count}, parts{virtio::SplitQueue::layout(count)}, storage(parts.bytes / 8 + 16) {
    memory = reinterpret_cast<u8*>(storage.data());
    (void)queue.initialise(memory, count);
  }
  [[nodiscard]] u16& word(u64 offset) { return *reinterpret_cast<u16*>(memory + offset); }
  [[nodiscard]] u32& word32(u64 offset) { return *reinterpret_cast<u32*>(memory + offset); }
  [[nodiscard]] u16 available() { return word(parts.available + 2); }
  [[nodiscard]] u16 head(u16 index) { return word(parts.available + 4 + 2 * (index % entries)); }
  [[nodiscard]] const virtio::Descriptor& descriptor(u16 index) const {
    return reinterpret_cast<const virtio::Descriptor*>(memory)[index];
  }
  void answer(u32 id, u32 written) {
    const u16 at = word(parts.used + 2);
    word32(parts.used + 4 + 8 * (at % entries)) = id;
    word32(parts.used + 8 + 8 * (at % entries)) = written;
    word(parts.used + 2) = static_cast<u16>(at + 1);
  }

  u32 entries;
  virtio::SplitQueue::Layout parts;
  std::vector<u64> storage;
  u8* memory = nullptr;
  virtio::SplitQueue queue;
};

}  // namespace corral::test
