// A virtqueue in the split format: a table of descriptors, a ring of what is available to the device, and a ring of what it
// has used.
//
// Nothing that the device writes is trusted: numbers in the used ring are checked against what is under way, and a queue
// whose device breaks the rules is broken for good. What the driver must remember is kept outside the shared memory.
// Pure (memory is given to it), so it is tested and fuzzed on the host. Not synchronised: its owner's lock.
// Source: Virtual I/O Device (VIRTIO) 1.2, 2.7 (split virtqueues), 2.7.5.3 (indirect descriptors), 2.7.13 (supplying buffers).
#pragma once

#include <span>

#include "lib/atomic.h"
#include "lib/result.h"
#include "lib/types.h"

namespace corral::virtio {

// A piece of memory for the device, in the format of the descriptor table.
struct Descriptor {
  static constexpr u16 flag_next = 1, flag_device_writes = 2, flag_indirect = 4;
  u64 address = 0;  // physical
  u32 length = 0;
  u16 flags = 0;
  u16 next = 0;
};
static_assert(sizeof(Descriptor) == 16);

class SplitQueue {
 public:
  static constexpr u32 most_entries = 256;

  SplitQueue() = default;
  SplitQueue(const SplitQueue&) = delete;
  SplitQueue& operator=(const SplitQueue&) = delete;

  // Bytes of zeroed, page aligned memory for a queue of `entries`, and where its three parts begin in it.
  struct Layout {
    u64 available, used, bytes;
  };
  [[nodiscard]] static Layout layout(u32 entries);
  // `entries`: a power of two up to most_entries (einval). The memory stays with the queue.
  Result<void> initialise(u8* memory, u32 entries);
  [[nodiscard]] u32 entries() const { return entries_; }
  [[nodiscard]] u32 in_flight() const { return in_flight_; }

  // Gives the device a request: first what it reads, then what it writes. `pieces` have address, length and
  // flag_device_writes; `indirect`: they lie in DMA-able memory at that physical address until the request comes
  // back, and take one entry of the ring; 0: they are copied into the table. eagain: no room now; einval: no pieces, or more than could ever
  // fit; eio: broken. `cookie` (not null) comes back with the answer.
  Result<void> add(std::span<Descriptor> pieces, u64 indirect, void* cookie);
  // After add: the device wants to be told.
  [[nodiscard]] bool must_notify();

  struct Completion {
    void* cookie = nullptr;
    u32 written = 0;  // bytes; never more than the request had room for
  };
  // The next request that came back. False: none.
  [[nodiscard]] bool take(Completion& to);
  // The device has broken the rules: nothing more will come.
  [[nodiscard]] bool broken() const { return broken_; }
  // Takes back any request that is under way, when the device will not be used any more. Null: none is left.
  [[nodiscard]] void* abandon();

 private:
  struct Entry {  // what the queue knows about a descriptor
    void* cookie = nullptr;  // not null: heads a request under way
    u32 room = 0;  // bytes that the device may write
    u16 next = 0;  // in the free list, or in the request's chain
    u16 count = 0;  // descriptors of the chain
  };
  struct UsedElement {
    u32 id;
    u32 length;
  };

  [[nodiscard]] u16 take_descriptor();
  void give_back(u16 head);

  Descriptor* table_ = nullptr;  // shared with the device; only written here
  u16* available_ = nullptr;  // flags, index, ring
  u16* used_ = nullptr;  // flags, index
  UsedElement* used_ring_ = nullptr;
  u32 entries_ = 0;
  u32 free_count_ = 0;
  u32 in_flight_ = 0;
  u16 free_ = 0;
  u16 next_available_ = 0;  // index of the next request
  u16 next_used_ = 0;  // index of the next answer
  bool broken_ = false;
  Entry known_[most_entries] = {};
};

}  // namespace corral::virtio
