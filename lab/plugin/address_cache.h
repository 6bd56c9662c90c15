// Where pages of the guest's virtual memory are in its physical memory, as one core used them last: asking QEMU each time is slow.
// Forgotten as a whole whenever the guest changes mappings.
#pragma once

#include <array>

#include "lib/types.h"

namespace corral::cache_model {

class AddressCache {
 public:
  // False: not known.
  [[nodiscard]] bool find(u64 address, u64& physical) const {
    const Entry& entry = entries_[index_of(address)];
    physical = address + entry.distance;
    return entry.key == key_of(address);
  }
  void remember(u64 address, u64 physical) { entries_[index_of(address)] = {key_of(address), physical - address}; }

  void forget() {
    if (++generation_ < generations) return;
    generation_ = 1;
    entries_ = {};
  }

 private:
  static constexpr u64 number_of_entries = 512;
  // A page's number has 52 bits; above them is which generation the entry is of. That of empty entries is 0.
  static constexpr u64 page_bits = 52, generations = u64{1} << (64 - page_bits);

  struct Entry {
    u64 key = 0;
    u64 distance = 0;  // from virtual to physical, modulo 2^64
  };
  static u64 index_of(u64 address) { return address >> page_shift & (number_of_entries - 1); }
  [[nodiscard]] u64 key_of(u64 address) const { return address >> page_shift | generation_ << page_bits; }

  u64 generation_ = 1;
  std::array<Entry, number_of_entries> entries_{};
};

}  // namespace corral::cache_model
